"""The alerts in Postgres: claimed under a lease, and marked once somebody has heard of them.

All times are Postgres' own, so a clock that jumps here neither frees nor freezes an alert. `next_attempt_at`
is when a row next wants attention: a pending one its next attempt, a told one its reminder, infinity is never.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import structlog
from pydantic import ValidationError

from watchline.consumers.notifier.grouping import Alert, Group, Message
from watchline.consumers.notifier.route import Delivery
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.records import IncidentRecord

CLAIM_LOCK = 0x77_6C_61_6C_65_72_74  # "wlalert": one notifier claims at a time, so a group has one sender
OPERATOR_CLASSES = ("28", "3D", "42")  # permission, database, schema: waiting won't help

CLAIM = """
with busy as (
  select pipeline, owner from alert_outbox where lease_until > statement_timestamp()
), attention as (
  select alert_id, pipeline, owner, next_attempt_at, created_at from alert_outbox where state = 'pending'
  union all
  select alert_id, pipeline, owner, next_attempt_at, created_at from alert_outbox o
  where state in ('sent', 'failed') and transition <> 'resolved' and next_attempt_at <= statement_timestamp()
    and not exists (select from alert_outbox later
                    where later.incident_id = o.incident_id and later.transition_no > o.transition_no)
), ready as (
  select pipeline, owner from attention a
  where not exists (select from busy b where b.pipeline = a.pipeline and b.owner is not distinct from a.owner)
  group by pipeline, owner having max(next_attempt_at) <= statement_timestamp()
  order by max(next_attempt_at), min(created_at) limit $3
), mine as (
  select o.alert_id from alert_outbox o join attention using (alert_id)
  join ready r on r.pipeline = o.pipeline and r.owner is not distinct from o.owner
  for update of o skip locked
)
update alert_outbox o set claimed_by = $1, lease_until = statement_timestamp() + $2
from mine where mine.alert_id = o.alert_id
returning o.alert_id, o.incident_id, o.fingerprint, o.transition_no, o.transition, o.severity, o.pipeline,
  o.kind, o.owner, o.payload::text as payload, o.created_at, o.cause_at, o.attempts,
  case when o.state <> 'pending' then coalesce(o.sent_at, o.created_at) end as told_at,
  not exists (select from alert_outbox earlier where earlier.incident_id = o.incident_id
              and earlier.transition_no < o.transition_no)
  or exists (select from alert_outbox earlier where earlier.incident_id = o.incident_id
             and earlier.transition_no < o.transition_no and earlier.state <> 'suppressed') as announced,
  statement_timestamp() as now
"""

LAST_SENT = """
select pipeline, owner, max(sent_at) as sent_at from alert_outbox
where state = 'sent' and sent_at > $1 and pipeline = any($2) group by pipeline, owner
"""

RENEW = """
update alert_outbox set lease_until = now() + $3
where alert_id = any($1) and claimed_by = $2 returning alert_id
"""

DEFER = """
update alert_outbox set next_attempt_at = $2, claimed_by = null, lease_until = null
where alert_id = any($1) and claimed_by = $3
"""

SUPPRESS = """
update alert_outbox set state = 'suppressed', suppressed_reason = $2, claimed_by = null, lease_until = null
where alert_id = any($1) and state = 'pending' and claimed_by = $3
"""

RELEASE = "update alert_outbox set claimed_by = null, lease_until = null where claimed_by = $1"

MARK_SENT = """
update alert_outbox set state = 'sent', sent_at = now(), attempts = attempts + 1, last_error = null,
  claimed_by = null, lease_until = null,
  next_attempt_at = case when alert_id = any($2) then now() + $3 else 'infinity' end
where alert_id = any($1)
"""

END_REMINDERS = """
update alert_outbox o set next_attempt_at = 'infinity'
where incident_id = any($1) and state in ('sent', 'failed') and next_attempt_at < 'infinity'
  and exists (select from alert_outbox later where later.incident_id = o.incident_id
              and later.transition_no > o.transition_no and later.state = 'sent')
"""

MARK_RETRY = """
update alert_outbox set attempts = attempts + 1, last_error = $2, claimed_by = null, lease_until = null,
  state = case when state = 'pending' and created_at <= now() - $4::interval then 'failed' else state end,
  next_attempt_at = now() + case when state = 'pending' and created_at <= now() - $4::interval
                                 then $5::interval else $3::interval end
where alert_id = any($1) and state <> 'suppressed' returning state
"""

MARK_FAILED = """
update alert_outbox set attempts = attempts + 1, last_error = $2, claimed_by = null, lease_until = null,
  state = case when state = 'pending' then 'failed' else state end, next_attempt_at = now() + $3
where alert_id = any($1) and state <> 'suppressed' returning state
"""

RECORD = """
insert into alert_deliveries (alert_id, channel, outcome, http_status, detail)
select alert_id, $2, $3, $4, $5 from unnest($1::bigint[]) as alert_id
"""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Claim:
    """Alerts that are ours while the lease lasts, when their groups were last told, and Postgres' time."""

    alerts: tuple[Alert, ...]
    last_sent: Mapping[Group, datetime]
    now: datetime | None


@dataclass(frozen=True, slots=True)
class Outbox:
    """The outbox as one notifier, `holder`, sees it; errors are `Unavailable` or `Misconfigured`."""

    pool: asyncpg.Pool[asyncpg.Record]
    holder: str
    lease: timedelta
    group_interval: timedelta
    repeat_interval: timedelta
    give_up_after: timedelta

    async def claim(self, groups: int) -> Claim:
        """Take every alert of up to `groups` groups that are due and that nobody else holds."""
        async with self._transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock($1)", CLAIM_LOCK)
            rows = await connection.fetch(CLAIM, self.holder, self.lease, groups)
            if not rows:
                return Claim((), {}, None)
            now: datetime = rows[0]["now"]
            pipelines = list({row["pipeline"] for row in rows})
            sent = await connection.fetch(LAST_SENT, now - self.group_interval, pipelines)
        last_sent = {Group(row["pipeline"], row["owner"]): row["sent_at"] for row in sent}
        return Claim(tuple(alert_of(dict(row)) for row in rows), last_sent, now)

    async def renew(self, message: Message) -> bool:
        """Start the lease anew before sending; False when another notifier has taken over."""
        async with self._transaction() as connection:
            rows = await connection.fetch(RENEW, message.alert_ids, self.holder, self.lease)
        return len(rows) == len(message.alerts)

    async def defer(self, waiting: Mapping[datetime, list[int]]) -> None:
        """Give back alerts that are due later."""
        async with self._transaction() as connection:
            await connection.executemany(DEFER, [(ids, at, self.holder) for at, ids in waiting.items()])

    async def suppress(self, alert_ids: Sequence[int], reason: str) -> None:
        """Close alerts that nobody needs to hear."""
        async with self._transaction() as connection:
            await connection.execute(SUPPRESS, list(alert_ids), reason, self.holder)

    async def release(self) -> None:
        """Give back whatever is still claimed."""
        async with self._transaction() as connection:
            await connection.execute(RELEASE, self.holder)

    async def mark(self, message: Message, delivery: Delivery) -> list[str]:
        """Write down every attempt and what follows from the last one; returns the states of the alerts."""
        ids, error = message.alert_ids, _error(delivery)
        async with self._transaction() as connection:
            for attempt in delivery.attempts:
                outcome = attempt.outcome
                await connection.execute(
                    RECORD, ids, attempt.channel, outcome.result, outcome.http_status, outcome.detail
                )
            if delivery.last.result == "accepted":
                incidents, still_open = _open_ends(message)
                await connection.execute(MARK_SENT, ids, still_open, self.repeat_interval)
                await connection.execute(END_REMINDERS, incidents)
                return ["sent"] * len(ids)
            wait = timedelta(seconds=delivery.wait)
            if delivery.last.result == "retry":
                rows = await connection.fetch(
                    MARK_RETRY, ids, error, wait, self.give_up_after, self.repeat_interval
                )
            else:
                rows = await connection.fetch(MARK_FAILED, ids, error, self.repeat_interval)
            return [row["state"] for row in rows]

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy[asyncpg.Record]]:
        with translated():
            async with self.pool.acquire() as connection, connection.transaction():
                yield connection


@contextmanager
def translated() -> Iterator[None]:
    """Turn Postgres' errors into the decision that they call for."""
    try:
        yield
    except asyncpg.PostgresError as error:
        code = error.sqlstate or ""
        if code[:2] in OPERATOR_CLASSES:
            message = f"Postgres refuses the outbox: {error} ({code})"
            raise Misconfigured(message, hint="run watchline migrate") from error
        raise Unavailable(f"Postgres could not do it now: {error} ({code})") from error
    except (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise Unavailable(f"Postgres doesn't answer: {type(error).__name__}: {error}") from error


def alert_of(row: Mapping[str, Any]) -> Alert:
    """An alert from its row; from its columns when the payload can't be read: somebody has to hear of it."""
    try:
        incident = IncidentRecord.model_validate_json(row["payload"])
    except ValidationError as error:
        log.error("alert.unreadable", alert_id=row["alert_id"], errors=error.error_count())
        incident = _from_columns(row)
    # The columns are what groups are claimed by; a payload that says otherwise must not split one.
    incident = incident.model_copy(update={"pipeline": row["pipeline"], "owner": row["owner"]})
    return Alert(
        alert_id=row["alert_id"],
        incident=incident,
        created_at=row["created_at"],
        attempts=row["attempts"],
        told_at=row["told_at"],
        announced=row["announced"],
    )


def _from_columns(row: Mapping[str, Any]) -> IncidentRecord:
    names = [
        "incident_id",
        "fingerprint",
        "transition_no",
        "transition",
        "severity",
        "pipeline",
        "kind",
        "owner",
        "cause_at",
    ]
    return IncidentRecord(
        **{name: row[name] for name in names},
        revision=0,
        at=row["created_at"],
        opened_at=row["cause_at"],
        title=f"{row['kind']} incident, its details can't be read",
    )


def _open_ends(message: Message) -> tuple[list[UUID], list[int]]:
    """The incidents of a message, and of each that is still open the alert that will be repeated."""
    newest: dict[UUID, Alert] = {}
    for alert in sorted(message.alerts, key=lambda each: each.incident.transition_no):
        newest[alert.incident.incident_id] = alert
    still_open = [alert.alert_id for alert in newest.values() if alert.incident.transition != "resolved"]
    return list(newest), still_open


def _error(delivery: Delivery) -> str:
    outcome = delivery.last
    parts = [str(part) for part in (outcome.http_status, outcome.detail) if part is not None]
    return " ".join(parts) or outcome.result
