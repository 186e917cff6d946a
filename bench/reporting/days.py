"""The days of pipelines of a whole database at once: what the sink folds cell by cell takes hours for years of runs."""

from __future__ import annotations

import asyncpg

from watchline.consumers.migrations import scripts

CELL = "views/0013/cell.sql"  # what a cell holds, as two lateral joins: one over runs, one over slots
KEPT = """
select attname as name, attnotnull as always from pg_attribute
where attrelid = 'pipeline_days'::regclass and attnum > 0 and not attisdropped order by attnum
"""
WEEKS = """
insert into pipeline_weeks (week, pipeline, runs, failed, ended, timed_runs, timed_seconds, changed_rows)
select date_trunc('week', day::timestamp)::date, pipeline, sum(runs), sum(failed + aborted), sum(runs - running),
    sum(timed_runs), sum(timed_seconds), sum(inserts + updates + deletes)
from pipeline_days group by 1, 2 having sum(runs) > 0 order by 2, 1
"""


async def count_days(connection: asyncpg.Connection) -> None:
    """Put every cell into `pipeline_days` and `pipeline_weeks`, as `fold_days` would, and take all marks away."""
    kept = await connection.fetch(KEPT)
    names = ", ".join(row["name"] for row in kept)
    values = ", ".join(
        f"coalesce({row['name']}, 0)" if row["always"] and row["name"] not in {"day", "pipeline"} else row["name"]
        for row in kept
    )
    of_runs, of_slots = aggregates((scripts() / CELL).read_text())
    async with connection.transaction():
        await connection.execute("truncate stale_days")
        await connection.execute(f"""
insert into pipeline_days ({names}) select {values} from (
{of_runs}, (coalesce(r.started_at, r.ended_at) at time zone 'UTC')::date as day, r.pipeline
    from runs r where coalesce(r.started_at, r.ended_at) is not null group by day, r.pipeline) of_runs
full join (
{of_slots}, (x.due_at at time zone 'UTC')::date as day, x.pipeline
    from expected_runs x where x.state <> 'expected' group by day, x.pipeline) of_slots using (day, pipeline)
order by day, pipeline
""")
        await connection.execute(WEEKS)


def aggregates(cell: str) -> tuple[str, str]:
    """The select lists of both joins of a cell: of its runs `r`, and of its slots `x`."""
    of_runs, rest = cell.split("\n    from (", 1)
    _, of_slots = rest.split("cross join lateral (\n", 1)
    return of_runs, of_slots.split("\n    from ", 1)[0]
