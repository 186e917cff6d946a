"""What Postgres knows of a pipeline and the log does not: read one pipeline at a time, by indexes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from watchline.cli.restoring.translation import StoredCommand, StoredRun
from watchline.schemas.records import IncidentRecord

MOST_RUNS = 100_000  # of one pipeline: a run every minute for ten weeks
PREFETCH = 500
FIELDS = ", ".join(name for name in StoredRun.__slots__ if name != "ends")

PIPELINES = "select pipeline, declaration::text, declared_at from public.pipelines order by pipeline"
COUNT = "select count(*) from public.pipelines"
# Where the newest runs begin, by the index alone.
SINCE = """
select min(started_at) from (
    select started_at from public.runs where pipeline = $1 and started_at < $2 order by started_at desc limit $3) newest
"""
# Whether the log has an event is asked run by run: a join would hash all of the log for each pipeline.
KNOWN = f"""
select {FIELDS}, end_event_id is not null and not end_in_log as ends from (
    select *, (select true from pg_temp.log_events e where e.event_id = r.end_event_id limit 1) is true as end_in_log
    from (
        (select * from public.runs where pipeline = $1 and started_at >= $2 order by started_at desc)
        union all
        (select * from public.runs where pipeline = $1 and started_at is null order by ended_at desc limit $3)) r
    ) known
"""  # noqa: S608 - constants
ENDED = f"""
select * from (
    select * from ({KNOWN}) runs where ends order by started_at desc nulls last limit $3) newest
order by revision, ended_at, run_id
"""  # noqa: S608 - constants
# Those that had started when the log begins, and of whose start the log knows nothing.
GOING_ON = f"""
select * from ({KNOWN}) runs
where not ends and started_at < $4
    and (select true from pg_temp.log_starts s where s.run_id = runs.run_id limit 1) is null
order by started_at desc limit $3
"""  # noqa: S608 - constants
COMMANDS = """
select event_id, revision, command, at, given_by, note, run_id, check_name, until, verdict, metrics
from public.commands c
where pipeline = $1 and outcome = 'applied' and command in ('feedback.given', 'pipeline.muted', 'pipeline.unmuted')
    and not exists (select from pg_temp.log_events e where e.event_id = c.event_id)
order by revision
"""
# An incident that was open where the log begins is open still, or was changed by what the log has.
INCIDENTS = """
select e.record::text from public.incidents i, lateral (
    select record, transition from public.incident_events e
    where e.incident_id = i.incident_id and e.revision <= $2 order by transition_no desc limit 1) e
where i.pipeline = $1 and i.kind <> 'ingestion' and (i.status = 'open' or i.revision > $2)
    and e.transition <> 'resolved'
order by i.opened_at
"""
CLOSED_BY_HAND = """
select case when status = 'resolved' and resolve_reason = 'manual' and revision <= $2 then resolved_at end
from public.incidents where pipeline = $1 and kind = 'freshness' order by opened_at desc limit 1
"""
HIGHEST_EPOCH = "select max(log_epoch) from public.sink_offsets"
READ_OF_LOG = "select partition, revision from public.ingestion where log_epoch = $1"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a pipeline's past is read: its newest runs, and all of so many days before the log begins."""

    runs: int
    days: float


@dataclass(frozen=True, slots=True)
class Past:
    """The past of one pipeline up to where its log begins, in `floor` as a revision and `at` as a time."""

    connection: asyncpg.Connection[Any]
    pipeline: str
    floor: int
    at: datetime
    since: datetime

    async def ended(self) -> AsyncIterator[StoredRun]:
        """The runs whose end the log no longer has, in the order of their revisions."""
        async with self.connection.transaction():
            cursor = self.connection.cursor(ENDED, self.pipeline, self.since, MOST_RUNS, prefetch=PREFETCH)
            async for row in cursor:
                yield StoredRun(**dict(row))

    async def going_on(self) -> list[StoredRun]:
        """The runs that had started before the log begins, and had not ended by then."""
        found = await self.connection.fetch(GOING_ON, self.pipeline, self.since, MOST_RUNS, self.at)
        return [StoredRun(**dict(row)) for row in found]

    async def commands(self) -> list[StoredCommand]:
        """Feedback, mutes and their ends that the log no longer has, oldest first."""
        return [StoredCommand(**dict(row)) for row in await self.connection.fetch(COMMANDS, self.pipeline)]

    async def incidents(self) -> tuple[IncidentRecord, ...]:
        """The incidents that were open where the log begins, each as it stood there."""
        found = await self.connection.fetch(INCIDENTS, self.pipeline, self.floor)
        return tuple(IncidentRecord.model_validate_json(row["record"]) for row in found)

    async def closed_by_hand_at(self) -> datetime | None:
        """When somebody closed the newest freshness incident, if that is how it ended."""
        closed: datetime | None = await self.connection.fetchval(CLOSED_BY_HAND, self.pipeline, self.floor)
        return closed


async def past_of(
    connection: asyncpg.Connection[Any], pipeline: str, extent: Extent, *, floor: int, at: datetime
) -> Past:
    """The past of `pipeline` as far as it matters."""
    days_ago = at - timedelta(days=extent.days)
    since = await connection.fetchval(SINCE, pipeline, at, extent.runs)
    return Past(connection, pipeline, floor, at, min(since or days_ago, days_ago))
