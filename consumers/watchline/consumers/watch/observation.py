"""What Postgres knows of ingestion at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from watchline.consumers.database import Session
from watchline.consumers.watch.health import Reading

# Partitions that a sink of the newest log has ever taken, or that have told a pulse in it. After a log was lost, the
# old one says until when the new one's partitions were heard of.
READINGS = """
with newest as (
    select max(log_epoch) as log_epoch from (
        select log_epoch from sink_offsets union all select log_epoch from ingestion) as logs
), expected as (
    select partition, updated_at from sink_offsets join newest using (log_epoch) where topic like '%.state'
    union all
    select partition, stored_at from ingestion join newest using (log_epoch)
), heard as (
    select distinct on (partition) partition, pulse_at, stored_at from ingestion order by partition, log_epoch desc
)
select e.partition, h.pulse_at, coalesce(h.stored_at, min(e.updated_at)) as stored_at
from expected e left join heard h using (partition)
group by e.partition, h.pulse_at, h.stored_at order by e.partition
"""
# All of the weeks that are compared with, and how long there have been any.
HOURS = """
select hour, events from ingestion_hours where hour >= now() - interval '4 weeks 3 hours'
union all (select hour, events from ingestion_hours where hour < now() - interval '4 weeks 3 hours'
    order by hour desc limit 1)
"""


@dataclass(frozen=True, slots=True)
class Observation:
    """Each expected partition, the events of the past weeks by hour, and the time in Postgres."""

    readings: tuple[Reading, ...]
    hours: dict[datetime, int]
    now: datetime


async def observe(connection: Session) -> Observation:
    """Look once; errors of asyncpg pass."""
    now = await connection.fetchval("select clock_timestamp()")
    readings = await connection.fetch(READINGS)
    hours = await connection.fetch(HOURS)
    return Observation(
        tuple(Reading(row["partition"], row["pulse_at"], row["stored_at"]) for row in readings),
        {row["hour"]: row["events"] for row in hours},
        now,
    )
