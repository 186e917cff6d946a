"""What becomes of the records of a run in the table `runs`."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sinking.records import after, ended, name_id, started
from sinking.tables import Sinking, waiting_for_locks
from watchline.consumers.sink.merging import merge_runs
from watchline.consumers.sink.run_rows import row_from
from watchline.schemas.records import RunRecord


async def test_a_run_keeps_every_field_that_was_sent(sinking: Sinking) -> None:
    parent = name_id("parent")
    await sinking.store(
        ended(
            parent_run_id=parent,
            nominal_at=after(hours=-1),
            backfill=True,
            heartbeat_seconds=30.5,
            watermark="a",
            next_watermark="b",
            last_heartbeat_at=after(minutes=4),
            status="failed",
            reported_status="crashed",
            updates=1,
            deletes=2,
            error={"type": "KeyError", "message": "'id'\nΩ"},
            overdue=True,
            anomalous=True,
            flags=("clock_skew", "negative_rows"),
            labels_started={"k": "v"},
            metadata_started={"deep": {"er": [1, 2.5, None]}},
            metadata_ended={},
            producer_host="etl-1",
        )
    )

    [run] = await sinking.rows("runs")
    assert run | {"flags": tuple(run["flags"])} == {
        "run_id": name_id("run"),
        "pipeline": "orders_daily",
        "parent_run_id": parent,
        "attempt": 1,
        "started_at": after(),
        "nominal_at": after(hours=-1),
        "backfill": True,
        "heartbeat_seconds": Decimal("30.5"),
        "watermark": "a",
        "next_watermark": "b",
        "last_heartbeat_at": after(minutes=4),
        "status": "failed",
        "reported_status": "crashed",
        "end_event_id": name_id("run end"),
        "ended_at": after(minutes=5),
        "duration_seconds": Decimal("300.25"),
        "inserts": 2**63 - 1,
        "updates": 1,
        "deletes": 2,
        "total_rows": 0,
        "throughput": 3.5,
        "metrics": '{"null_share": 0.25}',
        "error_type": "KeyError",
        "error_message": "'id'\nΩ",
        "overdue": True,
        "anomalous": True,
        "flags": ("clock_skew", "negative_rows"),
        "labels_started": '{"k": "v"}',
        "labels_ended": '{"stage": "end"}',
        "metadata_started": '{"deep": {"er": [1, 2.5, null]}}',
        "metadata_ended": "{}",
        "producer_host": "etl-1",
        "revision": 2,
    }


async def test_metadata_keeps_integers_beyond_64_bits(sinking: Sinking) -> None:
    await sinking.store(started(metadata_started={"big": 2**70}))

    [run] = await sinking.rows("runs")
    assert json.loads(run["metadata_started"]) == {"big": 2**70}


@pytest.mark.parametrize("batches", [1, 2])
async def test_start_and_end_make_one_row_in_one_batch_or_in_two(sinking: Sinking, batches: int) -> None:
    if batches == 1:
        await sinking.store(started(), ended())
    else:
        await sinking.store(started())
        await sinking.store(ended())

    [run] = await sinking.rows("runs")
    assert run["status"] == "succeeded"
    assert run["producer_host"] == "etl-1"
    [view] = await sinking.connection.fetch("select labels, metadata from reporting.runs")
    assert json.loads(view["labels"]) == {"team": "sales", "stage": "end"}
    assert json.loads(view["metadata"]) == {"shard": 3}


async def test_an_older_or_equal_revision_changes_nothing(sinking: Sinking) -> None:
    await sinking.store(started(), ended())
    before = await sinking.connection.fetch("select * from runs")

    await sinking.store(started(labels_started={"late": "yes"}, watermark="x"))
    await sinking.store(ended(status="failed", total_rows=9))

    assert await sinking.connection.fetch("select * from runs") == before


async def test_a_null_never_overwrites_a_value(sinking: Sinking) -> None:
    await sinking.store(started(watermark="w", parent_run_id=name_id("p"), nominal_at=after(hours=-1)))
    bare = RunRecord(pipeline="orders_daily", revision=9, run_id=name_id("run"))

    await sinking.store(bare)

    [run] = await sinking.rows("runs")
    assert (run["watermark"], run["parent_run_id"], run["nominal_at"]) == ("w", name_id("p"), after(hours=-1))
    assert (run["started_at"], run["attempt"], run["backfill"]) == (after(), 1, False)
    assert run["revision"] == 9


async def test_a_late_start_does_not_reopen_an_ended_run(sinking: Sinking) -> None:
    await sinking.store(ended(revision=5))
    await sinking.store(started(revision=6))

    [run] = await sinking.rows("runs")
    assert (run["status"], run["inserts"], run["metrics"]) == ("succeeded", 2**63 - 1, '{"null_share": 0.25}')
    assert run["labels_started"] is not None


async def test_a_later_record_of_the_same_end_keeps_its_error_and_metrics(sinking: Sinking) -> None:
    await sinking.store(ended(revision=5, status="failed", error={"type": "E", "message": "boom"}))

    await sinking.store(ended(revision=6, status="failed", error=None, metrics={}, duration_seconds=301.0))

    [run] = await sinking.rows("runs")
    assert (run["error_type"], run["error_message"]) == ("E", "boom")
    assert run["metrics"] == '{"null_share": 0.25}'
    assert run["duration_seconds"] == 301


@pytest.mark.parametrize("together", [True, False])
async def test_a_losing_end_brings_no_labels(sinking: Sinking, together: bool) -> None:
    winner = ended(revision=1, end_event_id=name_id("b"), ended_at=after(minutes=9), labels_ended={"x": "winner"})
    loser = ended(revision=2, end_event_id=name_id("a"), ended_at=after(minutes=5), labels_ended={"x": "loser"})

    for batch in ((winner, loser),) if together else ((winner,), (loser,)):
        await sinking.store(*batch)

    [run] = await sinking.rows("runs")
    assert json.loads(run["labels_ended"]) == {"x": "winner"}


@pytest.mark.parametrize("together", [True, False])
async def test_flags_are_replaced_by_a_whole_record_and_joined_by_a_partial_one(
    sinking: Sinking, together: bool
) -> None:
    history = [
        started(revision=1, flags=("negative_duration",)),
        started(revision=2, flags=("text_cut",)),
        started(revision=3, flags=("labels_repaired",), backfill=None),
    ]

    for batch in [history] if together else [[one] for one in history]:
        await sinking.store(*batch)

    [run] = await sinking.rows("runs")
    assert run["flags"] == ["labels_repaired", "text_cut"]


@pytest.mark.parametrize("together", [True, False])
async def test_of_two_ends_the_later_wins_whichever_is_read_last(sinking: Sinking, together: bool) -> None:
    later = ended(revision=1, end_event_id=name_id("b"), ended_at=after(minutes=9), status="failed", inserts=None)
    earlier = ended(revision=2, end_event_id=name_id("a"), ended_at=after(minutes=5), anomalous=True)

    for batch in ((later, earlier),) if together else ((later,), (earlier,)):
        await sinking.store(*batch)

    [run] = await sinking.rows("runs")
    assert (run["status"], run["end_event_id"], run["inserts"]) == ("failed", name_id("b"), None)
    assert (run["anomalous"], run["revision"]) == (False, 2)


async def test_a_run_id_that_another_pipeline_uses_too_does_not_change_hands(sinking: Sinking) -> None:
    await sinking.store(started())
    await sinking.store(ended(pipeline="other", revision=99))

    [run] = await sinking.rows("runs")
    assert (run["pipeline"], run["status"]) == ("orders_daily", "running")


async def test_a_run_id_that_another_sink_stores_in_the_same_moment_does_not_change_hands(sinking: Sinking) -> None:
    """The other's row is there, uncommitted, when ours is looked up: it is not seen, and waited for by the COPY."""
    await sinking.store(started("first"))
    other = sinking.connection.transaction()
    await other.start()
    await sinking.connection.execute(
        "insert into runs (run_id, pipeline, status, revision) values ($1, 'other', 'failed', 1)", name_id("run")
    )
    storing = asyncio.create_task(sinking.store(started(), first=1))
    watcher = await asyncpg.connect(sinking.dsn)
    await waiting_for_locks(watcher, 1)

    await other.commit()

    assert await storing == 0
    rows = {row["run_id"]: row for row in await sinking.rows("runs")}
    assert rows.keys() == {name_id("first"), name_id("run")}
    assert (rows[name_id("run")]["pipeline"], rows[name_id("run")]["status"]) == ("other", "failed")
    assert await sinking.rows("dead_letters") == []
    await watcher.close()


@pytest.mark.parametrize("seconds", [0.1 + 0.2, 1 / 3, 1e-7, 1e15 + 0.3, -0.0, 123456789.123])
async def test_a_duration_becomes_the_numeric_that_postgres_makes_of_it(sinking: Sinking, seconds: float) -> None:
    await sinking.store(ended(duration_seconds=seconds))

    same = "select duration_seconds = $1::float8::numeric from runs"
    assert await sinking.connection.fetchval(same, seconds)


async def test_an_undeclared_pipeline_gets_a_row_from_its_first_run(sinking: Sinking) -> None:
    await sinking.store(started(pipeline="surprise"))

    [pipeline] = await sinking.rows("pipelines")
    assert (pipeline["pipeline"], pipeline["declaration"], pipeline["revision"]) == ("surprise", None, 0)
    [seen] = await sinking.connection.fetch("select declared, last_status, open_incidents from reporting.pipelines")
    assert tuple(seen) == (False, "running", 0)


# Name, minute and attempt: an end belongs to one attempt, whoever speaks of it.
ends = st.sampled_from(
    [("a", 5, 1), ("b", 5, 1), ("c", 9, 2), ("d", 7, 2), (None, None, None), (None, None, 1), (None, None, 2)]
)


@st.composite
def histories(draw: st.DrawFn) -> list[RunRecord]:
    """Records of one run in the order of its log: ends in any order, labels brought at any time."""
    return [draw_record(draw, revision) for revision in range(1, draw(st.integers(1, 6)) + 1)]


def draw_record(draw: st.DrawFn, revision: int) -> RunRecord:
    end, minute, attempt = draw(ends)
    fields: dict[str, Any] = {
        "labels_started": draw(st.none() | st.just({"s": str(revision)})),
        "labels_ended": draw(st.none() | st.just({"e": str(revision)})),
        "watermark": draw(st.none() | st.just(str(revision))),
        "next_watermark": draw(st.none() | st.just(str(revision))),
        "backfill": draw(st.none() | st.booleans()),
        "attempt": attempt,
        "overdue": draw(st.booleans()),
        "anomalous": draw(st.booleans()),
        "inserts": revision,
        "metrics": draw(st.sampled_from([{}, {"m": float(revision)}])),
        "error": draw(st.sampled_from([None, {"type": "E", "message": str(revision)}])),
        "flags": draw(st.sampled_from([(), (str(revision),)])),
    }
    if end is None or minute is None:
        return started(revision=revision, **fields)
    return ended(revision=revision, end_event_id=name_id(end), ended_at=after(minutes=minute), **fields)


@given(history=histories(), cut=st.integers(0, 6))
def test_merging_in_two_steps_is_merging_at_once(history: list[RunRecord], cut: int) -> None:
    rows = [row_from(record) for record in history]
    at_once = merge_runs(rows)

    in_steps = merge_runs(merge_runs(rows[:cut]) + merge_runs(rows[cut:]))
    replayed = merge_runs(merge_runs(rows[:cut]) + merge_runs(rows))

    assert in_steps == at_once
    assert replayed == at_once


async def test_the_statement_merges_exactly_as_the_function_does(sinking: Sinking) -> None:
    """Every example is a run of its own in one table: once record by record, once as a single batch."""
    examples: list[list[RunRecord]] = []
    collect(examples)
    singly: list[RunRecord] = []
    at_once: list[RunRecord] = []
    for number, history in enumerate(examples):
        for record in history:
            singly.append(record.model_copy(update={"run_id": name_id(f"single {number}")}))
        at_once.extend(record.model_copy(update={"run_id": name_id(f"batch {number}")}) for record in history)

    for record in singly:
        await sinking.store(record)
    await sinking.store(*at_once)

    rows = {row["run_id"]: row for row in await sinking.rows("runs")}
    for number in range(len(examples)):
        assert comparable(rows[name_id(f"single {number}")]) == comparable(rows[name_id(f"batch {number}")])


def collect(examples: list[list[RunRecord]]) -> None:
    @settings(max_examples=60, database=None)
    @given(histories())
    def generate(history: list[RunRecord]) -> None:
        examples.append(history)

    generate()


def comparable(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != "run_id"}
