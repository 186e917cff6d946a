"""Incidents as Postgres holds them, and whether the sink has a command."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from watchline.cli.reach import tables
from watchline.schemas.errors import Misconfigured

POLL_SECONDS = 0.1
PREFIX = re.compile(r"[0-9a-f-]{4,36}")

COLUMNS = """
select incident_id, pipeline, kind, subject, state, severity, title, owner, run_id, opened_at, cause_at, resolved_at,
    resolve_reason, acknowledged_at, acknowledged_by, snoozed_until, note
from public.incidents
"""
# Every condition that is null lets all through.
LIST = f"""{COLUMNS}
where ($1::text[] is null or state = any($1)) and ($2::text is null or pipeline = $2)
    and ($3::text is null or owner = $3) and ($4::text is null or kind = $4)
order by opened_at desc, incident_id limit $5
"""
BY_PREFIX = f"{COLUMNS} where starts_with(incident_id::text, $1) order by opened_at desc limit 6"
FACTS = "select facts::text from public.incidents where incident_id = $1"
TRANSITIONS = """
select transition_no, transition, severity, at, resolve_reason, record ->> 'by' as by, record ->> 'note' as note
from public.incident_events where incident_id = $1 order by transition_no
"""
FLAGGED_RUNS = """
select distinct run_id, pipeline from public.anomalies where starts_with(run_id::text, $1) order by run_id limit 6
"""
OUTCOME = "select outcome, detail from public.commands where event_id = $1"


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident in its present state; `state` is open, acknowledged or resolved."""

    incident_id: UUID
    pipeline: str
    kind: str
    subject: str
    state: str
    severity: str
    title: str
    owner: str | None
    run_id: UUID | None
    opened_at: datetime
    cause_at: datetime
    resolved_at: datetime | None
    resolve_reason: str | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    snoozed_until: datetime | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """One transition of an incident."""

    transition_no: int
    transition: str
    severity: str
    at: datetime
    resolve_reason: str | None
    by: str | None
    note: str | None


def open_incidents(dsn: str) -> AbstractAsyncContextManager[asyncpg.Connection[Any]]:
    """A connection to the incidents; see `tables` for the errors."""
    return tables(dsn, rights="read incidents, incident_events, anomalies, commands and pipelines")


async def find(
    connection: asyncpg.Connection[Any],
    *,
    states: Sequence[str] | None,
    pipeline: str | None = None,
    owner: str | None = None,
    kind: str | None = None,
    limit: int,
) -> list[Incident]:
    """The incidents that all conditions let through, newest first."""
    found = await connection.fetch(LIST, states, pipeline, owner, kind, limit)
    return [Incident(**dict(row)) for row in found]


async def find_one(connection: asyncpg.Connection[Any], prefix: str) -> Incident:
    """The incident whose id begins so; Misconfigured when there is none, or more than one."""
    found = [Incident(**dict(row)) for row in await connection.fetch(BY_PREFIX, usable(prefix, "incident"))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Misconfigured(
            f"no incident {prefix}", hint="`watchline incidents list --status all` shows the ids; the sink may lag"
        )
    ids = ", ".join(str(one.incident_id) for one in found)
    raise Misconfigured(f"{prefix} may be any of {ids}", hint="write more of the id")


async def facts_of(connection: asyncpg.Connection[Any], incident_id: UUID) -> str:
    """What was seen against what was expected, as JSON."""
    return str(await connection.fetchval(FACTS, incident_id))


async def changes_of(connection: asyncpg.Connection[Any], incident_id: UUID) -> list[Change]:
    """Every transition of an incident, in order."""
    return [Change(**dict(row)) for row in await connection.fetch(TRANSITIONS, incident_id)]


async def find_flagged_run(connection: asyncpg.Connection[Any], prefix: str) -> tuple[UUID, str]:
    """The flagged run whose id begins so, and its pipeline; Misconfigured when it is not just one."""
    found = await connection.fetch(FLAGGED_RUNS, usable(prefix, "run"))
    if not found:
        raise Misconfigured(
            f"no run {prefix} with anomalies", hint="reporting.anomalies has the runs that were flagged"
        )
    if len(found) > 1:
        raise Misconfigured(
            f"{prefix} may be any of {', '.join(str(row['run_id']) for row in found)}", hint="write more of the id"
        )
    return found[0]["run_id"], found[0]["pipeline"]


async def wait_for_outcome(connection: asyncpg.Connection[Any], event_id: UUID, seconds: float) -> tuple[str, str]:
    """What became of a command, once the sink has it; TimeoutError when that takes longer than `seconds`."""
    async with asyncio.timeout(seconds):
        while (row := await connection.fetchrow(OUTCOME, event_id)) is None:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(POLL_SECONDS)  # Postgres tells nobody
    return row["outcome"], row["detail"]


def usable(prefix: str, what: str) -> str:
    """The beginning of an id as Postgres writes it; Misconfigured when it can't be one."""
    wanted = prefix.strip().lower()
    if not PREFIX.fullmatch(wanted):
        raise Misconfigured(
            f"{prefix!r} is no id of an {what}" if what == "incident" else f"{prefix!r} is no id of a {what}",
            hint="write the first 8 characters, or all of it",
        )
    return wanted
