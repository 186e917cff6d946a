"""A database with rows of all ages, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from aging.passes import NOW, Passes
from aging.stories import anomaly_of, incident_until, open_run, opening, run_at
from sinking.records import advanced, command, letter, name_id, slot
from watchline.schemas.records import RunRecord, SinkRecord

SPAN = timedelta(days=900)
AGED = """
update alert_outbox o set created_at = i.opened_at, next_attempt_at = 'infinity',
    sent_at = case when o.state = 'pending' then i.opened_at end,
    state = case when o.state = 'pending' and random() < 0.9 then 'sent' else o.state end,
    message_id = (select message_id from alert_messages where message_id = (o.alert_id * 7) % 50)
from incidents i where i.incident_id = o.incident_id;
update dead_letters set status = 'discarded', discarded_at = failed_at where dead_letter_id % 3 > 0
"""
POSTS = """
insert into alert_messages (channel, channel_id, ts, posted_at)
select '#ops', 'C1', extract(epoch from at)::text, at from unnest($1::timestamptz[]) as at
"""


async def fill(passes: Passes, *, seed: int, size: int) -> None:
    """Store so many runs, and of everything else as many as belong to them."""
    chance = random.Random(seed)
    times = [NOW - chance.random() * SPAN for _ in range(size // 4)]
    await passes.looking.execute(POSTS, times)
    await passes.sinking.store(*records(chance, size), now=NOW - SPAN - timedelta(days=1))  # so that alerts are written
    await passes.looking.execute("select setseed(0.5)")
    await passes.looking.execute(AGED)
    hours = [(NOW - chance.random() * SPAN).replace(minute=0, second=0, microsecond=0) for _ in range(size)]
    await passes.looking.execute("insert into ingestion_hours select distinct unnest($1::timestamptz[]), 1", hours)


def records(chance: random.Random, size: int) -> Iterator[SinkRecord | Any]:
    runs: list[RunRecord] = []
    for n in range(size):
        at = NOW - chance.random() * SPAN
        run = some_run(chance, at, n, runs)
        runs.append(run)
        yield run
        if run.ended_at is not None and run.started_at is not None and chance.random() < 0.3:
            yield anomaly_of(run)
            yield command("feedback.given", revision=n + 1, pipeline=run.pipeline, run_id=run.run_id, at=at)
        yield advanced(f"{n}", revision=n + 1, occurred_at=at, pipeline=run.pipeline)
        yield slot(due_at=at, revision=n + 1, pipeline=run.pipeline, state=chance.choice(["met", "missed", "expected"]))
        if chance.random() < 0.3:
            changes = {"run_id": run.run_id, "pipeline": run.pipeline}
            yield from (
                incident_until(at, f"incident {n}", **changes)
                if chance.random() < 0.8
                else [opening(at, f"incident {n}", **changes)]
            )
        if chance.random() < 0.2:
            yield letter(n, failed_at=at)


def some_run(chance: random.Random, at: datetime, n: int, before: list[RunRecord]) -> RunRecord:
    """Open or ended, well or badly, with or without a start, a parent and rows."""
    parent = chance.choice(before).run_id if before and chance.random() < 0.4 else None
    changes: dict[str, Any] = {"pipeline": f"pipeline {chance.randrange(12)}", "parent_run_id": parent}
    if chance.random() < 0.1:
        return open_run(at, f"run {n}", **changes)
    changes |= {"status": chance.choice(["succeeded", "failed", "aborted"]), "inserts": chance.choice([None, 0, 5])}
    changes |= {"started_at": None} if chance.random() < 0.1 else {}
    changes |= {"end_event_id": name_id(f"end {n}")}
    return run_at(at, f"run {n}", **changes)
