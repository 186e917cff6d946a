"""`watchline report`: every format says what the views say, and nobody is steered by a name."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from rich.console import Console

from deciding.calls import Call
from sinking.records import advanced, anomaly, declared, ended, incident, slot
from sinking.tables import Sinking
from watchline.cli.report.answers import answer_with_days
from watchline.cli.report.command import first_of_month
from watchline.cli.report.layouts import GIVING_WAY, table_of
from watchline.cli.report.questions import ANOMALIES, DAILY, EDGES, PIPELINES, SLA, Question
from watchline.schemas.records import SinkRecord

HOSTILE = "\x1b[2J\u202egnp [red]markup[/red] | <b> \x7f"
STEERING = ("\x1b", "\u202e", "\x7f")
REPORTS = ("pipelines", "daily", "sla", "anomalies", "lineage")
Fill = Callable[..., None]


def now() -> datetime:
    """Asked anew by each test: a suite may run over midnight."""
    return datetime.now(UTC)


@pytest.fixture
def fill(database: str) -> Fill:
    """Put records into the tables as the sink does."""

    async def store(records: tuple[SinkRecord, ...]) -> None:
        connection = await asyncpg.connect(database)
        sinking = Sinking(database, connection)
        try:
            await sinking.join()
            await sinking.store(*records)
        finally:
            await sinking.writer.close()
            await connection.close()

    return lambda *records: asyncio.run(store(records))


def run_of(pipeline: str, name: str, *, ago: timedelta = timedelta(0), **changes: Any) -> SinkRecord:
    times = {"started_at": now() - ago - timedelta(minutes=6), "ended_at": now() - ago}
    return ended(name, pipeline=pipeline, **times | {"inserts": 5, "total_rows": 50} | changes)


def some_of_everything(name: str = "orders_daily") -> tuple[SinkRecord, ...]:
    return (
        declared(name),
        run_of(name, "well"),
        run_of(name, "ill", status="failed"),
        advanced(pipeline=name),
        anomaly(pipeline=name, run_ended_at=now()),
        slot(pipeline=name, due_at=now() - timedelta(minutes=6), state="met", decided_at=now()),
        incident(pipeline=name, opened_at=now(), at=now(), cause_at=now()),
    )


def objects(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_a_day_is_counted_with_today_and_the_newest_stands_first(call: Call, fill: Fill) -> None:
    fill(*some_of_everything(), run_of("orders_daily", "older", ago=timedelta(days=3)))

    result = call("report", "daily", "--days", "5", "--format", "json")

    days = objects(result.out)
    assert [(day["runs"], day["failed"], day["error_share"]) for day in days if day["runs"] > 1] == [(2, 1, 0.5)]
    assert days[-1]["day"] == (now() - timedelta(days=3, minutes=6)).date().isoformat()
    assert result.err == f"{len(days)} rows\n"


def test_days_before_the_span_are_left_out(call: Call, fill: Fill) -> None:
    fill(run_of("stock", "older", ago=timedelta(days=9)))

    assert call("report", "daily", "--days", "7").err == "no rows\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"orders_daily", "stock"}),
        (["--pipeline", "stock"], {"stock"}),
        (["--type", "extraction"], {"orders_daily"}),
        (["--owner", "sales"], {"orders_daily"}),
        (["--pipeline", "stock' or true --"], set()),
    ],
)
@pytest.mark.parametrize("name", ["pipelines", "daily"])
def test_a_filter_lets_through_what_it_names(
    call: Call, fill: Fill, name: str, options: list[str], expected: set[str]
) -> None:
    fill(*some_of_everything(), run_of("stock", "other"))

    assert {one["pipeline"] for one in objects(call("report", name, "--format", "json", *options).out)} == expected


def test_a_limit_is_said_so_that_nobody_takes_a_part_for_all(call: Call, fill: Fill) -> None:
    fill(run_of("orders_daily", "one"), run_of("stock", "other"))

    assert call("report", "pipelines", "--limit", "1").err == "1 row, the limit: --limit shows more\n"


@pytest.mark.parametrize("name", REPORTS)
def test_a_table_fits_eighty_columns(call: Call, fill: Fill, name: str) -> None:
    fill(*some_of_everything("p" * 150))

    result = call("report", name)

    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize("layout", ["table", "csv", "json", "md"])
@pytest.mark.parametrize("name", REPORTS)
def test_nobody_is_steered_by_a_name(call: Call, fill: Fill, name: str, layout: str) -> None:
    fill(*some_of_everything(HOSTILE))

    result = call("report", name, "--format", layout)

    assert (result.code, result.out.strip() != "") == (0, True)
    assert [mark for mark in STEERING if mark in result.out] == []


@pytest.mark.parametrize("name", REPORTS)
def test_csv_has_the_columns_of_json(call: Call, fill: Fill, name: str) -> None:
    fill(*some_of_everything())

    table = list(csv.DictReader(io.StringIO(call("report", name, "--format", "csv").out)))
    rows = objects(call("report", name, "--format", "json").out)

    assert [list(row) for row in table] == [list(row) for row in rows]
    assert len(rows) > 0


def test_a_table_of_markdown_is_one(call: Call, fill: Fill) -> None:
    fill(run_of("a|b", "one"))

    lines = call("report", "daily", "--format", "md").out.splitlines()

    assert lines[1] == "| --- | --- | --- | --- | --- | --- | --- | --- |"
    assert "a\\|b" in lines[2]


def test_two_weeks_are_drawn_a_block_a_day(call: Call, fill: Fill) -> None:
    fill(*(run_of("stock", f"run {day}", ago=timedelta(days=day)) for day in range(3)))

    line = call("report", "pipelines").out.splitlines()[1]

    assert line.endswith("·" * 11 + "███")


def test_a_dataset_is_drawn_with_what_it_is_made_of_and_what_is_made_of_it(call: Call, fill: Fill) -> None:
    fill(
        declared("load", sources=({"name": "shop", "type": "mysql"},), targets=({"name": "lake", "type": "s3"},)),
        declared("mart", sources=({"name": "lake", "type": "s3"},), targets=({"name": "sales", "type": "pg"},)),
    )

    drawn = call("report", "lineage", "lake")

    for words in ("lake ◀", "shop mysql", "lake ▶", "sales pg"):
        assert words in drawn.out
    assert drawn.err == "2 rows\n"


def test_a_dataset_that_nobody_declares_is_refused_with_the_nearest(call: Call, fill: Fill) -> None:
    fill(declared("load", targets=({"name": "warehouse.orders", "type": "pg"},)))

    result = call("report", "lineage", "warehouse.order")

    assert result.code == 2
    assert "no pipeline declares a dataset warehouse.order" in result.err
    assert "did you mean warehouse.orders" in result.err


def test_a_direction_without_a_dataset_is_refused(call: Call) -> None:
    assert call("report", "lineage", "--direction", "upstream").code == 2


@pytest.mark.parametrize(("back", "expected"), [(0, date(2026, 1, 1)), (1, date(2025, 12, 1)), (13, date(2024, 12, 1))])
def test_months_are_counted_back_over_new_year(back: int, expected: date) -> None:
    assert first_of_month(date(2026, 1, 31), back=back) == expected


@pytest.mark.parametrize("question", [PIPELINES, DAILY, SLA, ANOMALIES, EDGES], ids=lambda question: question.view)
@pytest.mark.parametrize("width", [1, 30, 40, 80])
def test_names_are_told_on_a_narrow_terminal(question: Question, width: int) -> None:
    row = dict.fromkeys(question.columns, 1234.5) | dict.fromkeys(GIVING_WAY, "kafka_" * 20)
    printed = io.StringIO()
    console = Console(width=max(width, 30), file=printed)

    console.print(table_of(question, [row], width=width))

    lines = printed.getvalue().splitlines()
    assert lines[0].split()[0] == next(iter(question.shown.values())).split()[0]
    assert width == 1 or "kafka_" in lines[1]
    assert "… …" not in lines[0]


def test_a_day_of_another_year_is_not_taken_for_one_of_this(call: Call, fill: Fill) -> None:
    fill(run_of("stock", "old", ago=timedelta(days=800)))
    ended_at = now() - timedelta(days=800)

    assert f"{ended_at:%Y-%m-%d %H:%M}" in call("report", "pipelines").out
    assert f"{ended_at - timedelta(minutes=6):%Y-%m-%d}" in call("report", "daily", "--days", "900").out


def test_a_number_is_written_out_in_csv(call: Call, fill: Fill) -> None:
    fill(run_of("stock", "one", total_rows=0, duration_seconds=7))

    (day,) = csv.DictReader(io.StringIO(call("report", "daily", "--format", "csv").out))

    assert [day[column] for column in ("error_share", "throughput", "total_rows", "avg_duration_seconds")] == [
        "0", "0", "0", "7",
    ]  # fmt: skip


def test_datasets_of_the_same_name_have_a_tree_each(call: Call, fill: Fill) -> None:
    orders, copy = ({"name": "orders", "type": kind, "group": "g"} for kind in ("postgres", "s3"))
    fill(
        declared("load", sources=(orders,), targets=({"name": "stock", "type": "postgres", "group": "g"},)),
        declared("share", sources=(copy,), targets=({"name": "mail", "type": "smtp", "group": "g"},)),
    )

    trees = call("report", "lineage", "orders").out
    rows = objects(call("report", "lineage", "orders", "--format", "json").out)

    assert [line.split(" ▶")[0] for line in trees.splitlines() if "▶" in line] == [
        "orders (postgres, g)", "orders (s3, g)",
    ]  # fmt: skip
    assert [(row["dataset_type"], row["reached"]) for row in rows] == [("postgres", "stock"), ("s3", "mail")]


@pytest.mark.parametrize("zone", ["UTC", "Africa/Cairo"])
def test_two_weeks_have_their_days_where_a_midnight_is_missing(database: str, fill: Fill, zone: str) -> None:
    today = date(2026, 5, 7)  # the clocks of Cairo went from midnight to one on the first of these days
    fill(run_of("stock", "one", ago=now() - datetime(2026, 5, 7, 12, tzinfo=UTC)))
    dsn = f"{database}{'&' if '?' in database else '?'}timezone={zone}"

    _, days = asyncio.run(answer_with_days(dsn, PIPELINES, {}, limit=1, today=today))

    assert days["stock"] == ([0] * 13 + [1], [0] * 14)
