from collections import Counter
from datetime import UTC, datetime
from io import StringIO

import asyncpg
import pytest
from rich.console import Console

from watchline.cli.demo.findings import Finding, PipelineSummary, Totals, differences, verify_totals
from watchline.cli.demo.history import read_history
from watchline.cli.demo.report import anomalies_table, number, pipelines_table, print_table, short
from watchline.schemas.errors import WatchlineError

TOTALS = Totals(runs=Counter(succeeded=3, failed=1), rows=10, seconds=20)


def test_equal_totals_differ_in_nothing() -> None:
    assert differences(TOTALS, Totals(runs=Counter(failed=1, succeeded=3), rows=10, seconds=20)) == []


def test_each_difference_is_named() -> None:
    stored = Totals(runs=Counter(succeeded=2, running=1, failed=1), rows=9, seconds=20)

    assert differences(stored, TOTALS) == [
        "1 runs running instead of 0",
        "2 runs succeeded instead of 3",
        "9 rows instead of 10",
    ]


async def test_a_run_that_is_not_in_postgres_fails_the_demo(database: str) -> None:
    history = read_history(2)
    connection = await asyncpg.connect(database)

    try:
        with pytest.raises(WatchlineError, match="0 runs failed instead of 2"):
            await verify_totals(connection, history, [run.pipeline for run in history])
    finally:
        await connection.close()


def test_numbers_show_no_more_digits_than_matter() -> None:
    assert [number(value) for value in (27_023_711.0, 123_456.0, 12_345.6, 66.34, 0.0, 3.0, -9.9999, None)] == [
        "27.0M",
        "123k",
        "12,346",
        "66.3",
        "0",
        "3",
        "-10",
        "-",
    ]


def test_a_watermark_is_shown_to_the_minute() -> None:
    assert short("2021-04-01T15:49:40Z") == "2021-04-01 15:49"
    assert short(None) == "-"


def test_the_tables_fit_into_eighty_columns_with_nothing_cut_but_long_names() -> None:
    finding = Finding(
        "hbase/" + "x" * 60, "duration_seconds", 23_118.0, 1_562.0, 27_023_711.0, -17.7, datetime.now(UTC)
    )
    summary = PipelineSummary("hbase/" + "x" * 60, 28_191, 9_674, 1_000, "2021-04-01T15:49:40Z")
    console = Console(width=80, file=StringIO(), record=True)

    print_table(console, anomalies_table([finding]))
    print_table(console, pipelines_table([summary]))

    shown = console.export_text()
    assert shown.count("…") == 2
    assert "1,562 to 27.0M" in shown
    assert "2021-04-01 15:49" in shown
