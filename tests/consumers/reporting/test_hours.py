"""reporting.hourly over thousands of runs: the same values as counting each hour, found along an index."""

from __future__ import annotations

import asyncpg
import pytest

from sinking.truth import differences, make_truth

# Of seven pipelines, one of them undeclared; every third run starts within a second of a full hour, midnights and ends
# of months among them. Some have no start, some no end, some neither, and some share their hour.
RUNS = """
insert into runs (run_id, pipeline, status, started_at, ended_at, duration_seconds, inserts, updates, deletes,
    total_rows, attempt, backfill, anomalous, overdue, revision)
select gen_random_uuid(), 'p' || n % 7,
    (array['succeeded', 'failed', 'aborted', 'unknown', 'running', 'lost'])[1 + n % 6],
    case when n % 5 > 0 then at end, case when n % 4 > 0 then at + (n % 90) * interval '1 minute' end,
    case when n % 8 > 0 then (n * 7919 % 100003) / 7.0 end, nullif(n % 9, 4), nullif(n % 10, 3), nullif(n % 11, 5),
    nullif(n * 31 % 1000, 62), nullif(n % 3, 0), nullif(n % 4, 1) > 1, n % 13 = 0, n % 17 = 0, n
from (
    select n, timestamptz '2024-02-28 20:00Z' + n % 60 * interval '1 hour'
        + case n % 3 when 0 then (n % 5 - 2) * interval '0.5 second' else n * 37 % 3600 * interval '1 second' end as at
    from generate_series(1, 4000) n) made
"""
SHARED = "runs > 2 and p95_duration_seconds > median_duration_seconds"
INDEXED = """
select distinct a.attname from pg_index i
join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid and d.refobjid = i.indrelid
join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid and a.attnum > 0
where i.indrelid = 'runs'::regclass and not i.indisprimary
"""


@pytest.fixture
async def runs(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "insert into pipelines (pipeline, type, owner, first_seen_at, revision) "
        "select 'p' || n, 'load', 'owner ' || n % 2, now(), 1 from generate_series(0, 5) n"
    )
    await connection.execute(RUNS)


@pytest.mark.usefixtures("runs")
async def test_each_hour_of_thousands_of_runs_has_what_counting_them_gives(connection: asyncpg.Connection) -> None:
    await make_truth(connection)

    assert await differences(connection, "hourly") == []

    assert await connection.fetchval("select count(*) from reporting.hourly") > 300
    assert await connection.fetchval(f"select count(*) from reporting.hourly where {SHARED}") > 100


@pytest.mark.usefixtures("runs")
async def test_a_page_of_hours_is_read_along_the_index_and_sorts_no_more_than_an_hour(
    connection: asyncpg.Connection,
) -> None:
    await connection.execute("analyze runs")
    for way in (
        "seqscan",
        "bitmapscan",
        "hashagg",
        "sort",
    ):  # of a few thousand runs these are cheaper, of millions they are not
        await connection.execute(f"set local enable_{way} = off")

    plan = await connection.fetch("explain select * from reporting.hourly order by hour desc limit 100")

    text = "\n".join(row[0] for row in plan)
    assert "Index Scan Backward using runs_hour" in text
    assert "Incremental Sort" in text


async def test_no_index_of_runs_holds_what_an_end_changes(connection: asyncpg.Connection) -> None:
    indexed = {row["attname"] for row in await connection.fetch(INDEXED)}

    assert indexed == {"pipeline", "parent_run_id", "started_at"}
