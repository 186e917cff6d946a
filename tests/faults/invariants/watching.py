"""A reader beside the services: what anybody sees in Postgres while they work, and die."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from faults.invariants.moments import Moment, Standing, Tally
from watchline.schemas import Topics

EVERY_SECONDS = 0.05
STANDINGS = """
select topic, partition, fence, coalesce(next_offset, 0) as next_offset from sink_offsets
where topic = any($1) order by 1, 2
"""
RUNS = """
select pipeline, count(*) as runs, sum(revision)::bigint as revisions from runs
where $1::text[] is null or pipeline = any($1) group by 1
"""
ANOMALIES = """
select pipeline, count(*) as anomalies from anomalies where $1::text[] is null or pipeline = any($1) group by 1
"""
TRANSITIONS = """
select i.pipeline, count(*) filter (where e.resolve_reason is distinct from 'superseded') as transitions,
    count(*) filter (where e.resolve_reason = 'superseded') as superseded
from incident_events e join incidents i using (incident_id)
where i.revision > 0 and ($1::text[] is null or i.pipeline = any($1)) group by 1
"""
LETTERS = "select count(*) from dead_letters where source_topic = any($1)"
TORN = """
select 'an incident without its newest transition: ' || i.incident_id from incidents i where not exists (
    select from incident_events e where e.incident_id = i.incident_id and e.transition_no = i.transition_no)
union all
select 'a transition without its incident: ' || e.incident_id from incident_events e where not exists (
    select from incidents i where i.incident_id = e.incident_id)
union all
select 'a transition to be told that is not in the outbox: ' || e.incident_id || ', ' || e.transition_no
from incident_events e where e.transition in ('opened', 'resolved') and e.resolve_reason is distinct from 'superseded'
    and not exists (
        select from alert_outbox o where o.incident_id = e.incident_id and o.transition_no = e.transition_no)
union all
select 'an alert without its transition: ' || o.incident_id from alert_outbox o where not exists (
    select from incident_events e where e.incident_id = o.incident_id and e.transition_no = o.transition_no)
"""


class Watcher:
    """Takes snapshots; those that equal the one before are not kept."""

    def __init__(
        self, dsn: str, topics: Topics, pipelines: Sequence[str] | None, keep: Callable[[Moment], None]
    ) -> None:
        self.taken = 0
        self.failures = 0  # snapshots that Postgres did not give: it was away
        self._dsn, self._topics, self._pipelines, self._keep = dsn, topics, pipelines, keep
        self._connection: asyncpg.Connection[Any] | None = None
        self._last: Moment | None = None

    async def watch(self, stop: asyncio.Event) -> None:
        """Look until `stop` is set, and once more then."""
        last = False
        while not last:
            last = stop.is_set()
            try:
                self._note(await self._look())
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
                self.failures += 1
                await self.close()
            try:
                await asyncio.wait_for(stop.wait(), EVERY_SECONDS)
            except TimeoutError:
                continue

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    def _note(self, moment: Moment) -> None:
        self.taken += 1
        if moment != self._last:
            self._last = moment
            self._keep(moment)

    async def _look(self) -> Moment:
        if self._connection is None:
            self._connection = await asyncpg.connect(self._dsn)
        async with self._connection.transaction(isolation="repeatable_read", readonly=True):
            return await snapshot(self._connection, self._topics, self._pipelines)


async def snapshot(
    connection: asyncpg.Connection[Any], topics: Topics, pipelines: Sequence[str] | None = None
) -> Moment:
    """What the connection's transaction sees; of all pipelines when `pipelines` is None."""
    standings = await connection.fetch(STANDINGS, list(topics.outputs))
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for query in (RUNS, ANOMALIES, TRANSITIONS):
        for row in await connection.fetch(query, pipelines):
            counts[row["pipeline"]] |= {name: number for name, number in row.items() if name != "pipeline"}
    return Moment(
        tuple(Standing(*row) for row in standings),
        {pipeline: Tally(**numbers) for pipeline, numbers in counts.items()},
        await connection.fetchval(LETTERS, list(topics.sources)),
        tuple(what for (what,) in await connection.fetch(TORN)),
    )


@asynccontextmanager
async def watching(
    dsn: str,
    topics: Topics,
    *,
    pipelines: Sequence[str] | None = None,
    keep: Callable[[Moment], None] | None = None,
) -> AsyncIterator[list[Moment]]:
    """Snapshots every 50 ms for as long as the block lasts, and one at its end: into the list, or to `keep`.

    In a large database name a few `pipelines`: what is stored of the others is not looked at then.
    """
    moments: list[Moment] = []
    watcher, stop = Watcher(dsn, topics, pipelines, keep or moments.append), asyncio.Event()
    task = asyncio.create_task(watcher.watch(stop))
    try:
        yield moments
    finally:
        stop.set()
        await task
        await watcher.close()
    assert watcher.taken, "the reader has never seen anything"
