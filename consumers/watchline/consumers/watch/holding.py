"""Alerts of absence are held while ingestion is ill: nobody can say then what did not happen.

What is held does not wait in line: failures and anomalies of the same pipeline go on. When ingestion is well again,
what still is so is told, and what has ended meanwhile is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from aiokafka.partitioner import murmur2
from pydantic import TypeAdapter

from watchline.consumers.database import Session
from watchline.consumers.watch.incident import FINGERPRINT, ill_partitions
from watchline.schemas.records import IncidentFact

ABSENCE = ("freshness", "timeliness", "lost", "missed_start")
HELD_AT_MOST = timedelta(hours=4)  # then it is told: somebody has had the time to look at the system incident
FACTS = TypeAdapter(tuple[IncidentFact, ...])

OPEN = "select facts::text from incidents where fingerprint = $1 and status = 'open'"
PARTITIONS = """
select count(distinct partition) from sink_offsets
where topic like '%.state' and log_epoch = (select max(log_epoch) from sink_offsets)
"""
ABSENT = """
select distinct pipeline from alert_outbox where kind = any($1) and state = 'pending'
union select pipeline from alert_outbox where kind = any($1) and state in ('sent', 'failed')
    and transition <> 'resolved' and next_attempt_at <= statement_timestamp()
"""
# The end of an incident of which somebody has heard is told: that something came is certain. One that is being sent is
# left alone.
HOLD = """
update alert_outbox o set state = 'held', suppressed_reason = 'ingestion_ill', claimed_by = null, lease_until = null
where state = 'pending' and kind = any($1) and pipeline = any($2) and created_at > now() - $3::interval
    and (lease_until is null or lease_until <= statement_timestamp())
    and (transition in ('opened', 'updated') or (
        exists (select from alert_outbox e where e.incident_id = o.incident_id
            and e.transition_no < o.transition_no and e.state in ('held', 'pending'))
        and not exists (select from alert_outbox e where e.incident_id = o.incident_id
            and e.transition_no < o.transition_no and e.state in ('sent', 'failed'))))
"""
POSTPONE = """
update alert_outbox set next_attempt_at = statement_timestamp() + interval '1 minute'
where state in ('sent', 'failed') and kind = any($1) and pipeline = any($2) and transition <> 'resolved'
    and next_attempt_at <= statement_timestamp() and (lease_until is null or lease_until <= statement_timestamp())
"""
RELEASE = """
update alert_outbox o set state = case when r.ended then 'suppressed' else 'pending' end,
    suppressed_reason = case when r.ended then 'ended_while_unknown' end,
    next_attempt_at = case when r.ended then o.next_attempt_at else statement_timestamp() end
from (
    select h.alert_id, coalesce(i.status = 'resolved', false) and (h.transition <> 'resolved' or not exists (
        select from alert_outbox e where e.incident_id = h.incident_id and e.state in ('sent', 'failed'))) as ended
    from alert_outbox h left join incidents i using (incident_id)
    where h.state = 'held' and ($1 or h.created_at <= now() - $2::interval)
) r where r.alert_id = o.alert_id
"""


async def hold_absence(connection: Session) -> None:
    """Hold what can't be known, and release what can, within the caller's transaction and before it claims alerts."""
    facts = await connection.fetchval(OPEN, FINGERPRINT)
    if facts is not None:
        unknown = await unknowable(connection, FACTS.validate_json(facts))
        await connection.execute(HOLD, ABSENCE, unknown, HELD_AT_MOST)
        await connection.execute(POSTPONE, ABSENCE, unknown)
    await connection.execute(RELEASE, facts is None, HELD_AT_MOST)


async def unknowable(connection: Session, facts: tuple[IncidentFact, ...]) -> list[str]:
    """The pipelines with alerts of absence that live in a partition which is ill."""
    pipelines = [row["pipeline"] for row in await connection.fetch(ABSENT, ABSENCE)]
    ill, partitions = ill_partitions(facts), await connection.fetchval(PARTITIONS)
    if ill is None or not partitions:
        return pipelines
    return [*those_in(ill, pipelines, partitions)]


def those_in(ill: frozenset[int], pipelines: Iterable[str], partitions: int) -> Iterable[str]:
    """Those of `pipelines` whose partition, by Kafka's default partitioner, is one of `ill`."""
    return (name for name in pipelines if (murmur2(name.encode()) & 0x7FFFFFFF) % partitions in ill)
