"""Incidents that a log had opened which was lost: no worker knows them any more, so a command ends them here.

The command stands in the log, and its record says that no worker obeyed it, so reading both again ends the same.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import asyncpg
import structlog
from pydantic import ValidationError

from watchline.consumers.sink.incidents import store_incidents
from watchline.schemas.records import EPOCH_SHIFT, CommandRecord, IncidentRecord

CLOSED = "the log that knew it is lost, so the sink has closed it"
# Those of an older log than the command's; what no log has opened has no revision, see watch/incident.py.
ORPHANS = """
select e.record::text as record
from unnest($1::uuid[], $2::text[], $3::bigint[]) as wanted (incident_id, pipeline, epoch)
join incidents i using (incident_id, pipeline) join incident_events e using (incident_id, transition_no)
where i.status = 'open' and i.revision > 0 and i.revision >> $4 < wanted.epoch
"""

log = structlog.get_logger(__name__)


async def end_orphans(
    connection: asyncpg.Connection, records: list[CommandRecord], *, now: datetime, alert_max_age: timedelta
) -> list[CommandRecord]:
    """Close the incidents of lost logs that `records`, read at `now`, ask for; the records with what became of them."""
    asked = {one.incident_id: one for one in reversed(records) if one.incident_id is not None and _is_unobeyed(one)}
    if not asked:
        return records
    wanted = [(identity, one.pipeline, one.revision >> EPOCH_SHIFT) for identity, one in asked.items()]
    found = await connection.fetch(ORPHANS, *zip(*wanted, strict=True), EPOCH_SHIFT)
    orphans = [orphan for row in found if (orphan := _read(row["record"])) is not None]
    ends = [ended(orphan, asked[orphan.incident_id], now) for orphan in orphans]
    await store_incidents(connection, ends, now=now, alert_max_age=alert_max_age)
    obeyed = {asked[orphan.incident_id].event_id for orphan in orphans}
    return [
        one.model_copy(update={"outcome": "applied", "detail": CLOSED}) if one.event_id in obeyed else one
        for one in records
    ]


def ended(incident: IncidentRecord, command: CommandRecord, now: datetime) -> IncidentRecord:
    """The end of an incident, in its newest state, by a command that was read at `now`."""
    at = max(min(command.at, now), incident.opened_at)
    return incident.model_copy(
        update={
            "revision": command.revision, "transition": "resolved", "transition_no": incident.transition_no + 1,
            "at": at, "resolved_at": at, "resolve_reason": "manual", "by": command.by, "note": command.note,
        }
    )  # fmt: skip


def _read(record: str) -> IncidentRecord | None:
    """The newest state of an incident; what can't be read stays open, and must not stop the sink."""
    try:
        return IncidentRecord.model_validate_json(record)
    except ValidationError as error:
        log.error("incident.unreadable", errors=error.error_count())
        return None


def _is_unobeyed(record: CommandRecord) -> bool:
    return record.command == "incident.resolved" and record.outcome == "ignored"
