"""Scenario 25, the part of the sink: the log of a week is read again while new records keep coming.

That Postgres is away: tests/consumers/sink/test_service.py and the chaos run (tests/faults).
"""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import count

from sinking.records import NOON, Sent, after, ended, incident, name_id, resolved, sent, started
from sinking.tables import Sinking
from watchline.schemas.records import SinkRecord

DAYS = 7
VIEWS = "select relname from pg_class where relnamespace = 'reporting'::regnamespace and relkind = 'v' order by 1"
# When something was written, and how old it is by now, are no part of what the log says.
LEFT_OUT = "{stored_at,first_seen_at,updated_at,alert_id,created_at,data_age_seconds,watermark_lag_seconds}"
CHECKSUM = """
select md5(coalesce(string_agg(line, '|' order by line), '')) from (
  select (to_jsonb(v) - '{left_out}'::text[])::text as line
  from reporting."{view}" v) lines
"""


def a_week() -> list[SinkRecord]:
    """One run an hour; one a day fails, is told, and has recovered an hour later."""
    revisions, records = count(1), list[SinkRecord]()
    for hour in range(-24 * DAYS, 0):
        run, at = f"run {hour}", NOON + timedelta(hours=hour)
        records += [
            started(run, revision=next(revisions), started_at=at),
            ended(run, revision=next(revisions), started_at=at, ended_at=at + timedelta(minutes=1)),
        ]
        if hour % 24 == 0:
            name = f"incident {hour}"
            records += [
                incident(name, revision=next(revisions), at=at, opened_at=at, cause_at=at),
                resolved(name, revision=next(revisions), opened_at=at, cause_at=at, at=at + timedelta(hours=1)),
            ]
    return records


def live_runs() -> list[SinkRecord]:
    """Ten runs after noon."""
    return [
        ended(f"live {n}", revision=10_000 + n, started_at=after(hours=n), ended_at=after(hours=n, minutes=1))
        for n in range(10)
    ]


async def checksums(sinking: Sinking) -> dict[str, str]:
    """One for each view of the reporting schema."""
    views = [row["relname"] for row in await sinking.connection.fetch(VIEWS)]
    return {view: await sinking.connection.fetchval(CHECKSUM.format(view=view, left_out=LEFT_OUT)) for view in views}


async def read_again(sinking: Sinking, old: list[Sent], live: list[Sent]) -> None:
    """In batches of any size, the live records in between; as of a week after the first reading."""
    chance, new = random.Random(25), iter(live)
    position = 0
    while position < len(old):
        size = chance.randint(1, 40)
        await sinking.store_sent(old[position : position + size], now=after(days=7))
        position += size
        if (record := next(new, None)) is not None:
            await sinking.store_sent([record], now=after(days=7))
    for record in new:
        await sinking.store_sent([record], now=after(days=7))


async def test_the_views_are_those_of_a_log_that_was_read_once_and_nobody_is_told_again(sinking: Sinking) -> None:
    week = sent(*a_week())
    run = name_id("run -24")
    live = sent(
        *live_runs(),
        ended("run -24", revision=20_000, inserts=4711),  # what is known of an old run is corrected meanwhile
        first=len(week),
    )
    for records in (week, live):
        await sinking.store_sent(records)
    before, told = await checksums(sinking), await sinking.rows("alert_outbox")

    await read_again(sinking, week, live)

    assert await checksums(sinking) == before
    assert await sinking.rows("alert_outbox") == told
    assert await sinking.connection.fetchval("select inserts from runs where run_id = $1", run) == 4711


async def test_what_comes_for_the_first_time_while_old_records_are_read_again_is_stored(sinking: Sinking) -> None:
    week = sent(*a_week())
    live = sent(*live_runs(), first=len(week))
    await sinking.store_sent(week)

    await read_again(sinking, week, live)
    replayed = await checksums(sinking)
    await sinking.clear()
    for records in (week, live):
        await sinking.store_sent(records)

    assert replayed == await checksums(sinking)
