"""Writing `run_attempts`: each try of a run that ended and was followed by another one.

`runs` speaks of the newest attempt. What a newer one replaces there is kept here, and so is an end that comes too late.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import asyncpg

from watchline.consumers.sink.merging import attempt_of
from watchline.consumers.sink.run_rows import RunRow
from watchline.consumers.sink.statements import commas, rows

COLUMNS = "run_id attempt pipeline status ended_at duration_seconds error_type error_message end_event_id"
_CHANGED = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split()[2:])
_KEPT = (
    f"order by run_id, attempt on conflict (run_id, attempt) do update set {_CHANGED} "
    "where (excluded.ended_at, excluded.end_event_id) > (run_attempts.ended_at, run_attempts.end_event_id)"
)
FOLLOWED = (
    f"insert into run_attempts ({commas(COLUMNS)}) "  # noqa: S608 - constants
    f"select {commas(COLUMNS).replace(' attempt,', ' coalesce(attempt, 1) as attempt,')} "
    f"from runs where run_id = any($1::uuid[]) and end_event_id is not null and ended_at is not null {_KEPT}"
)
LATE = (
    f"insert into run_attempts ({commas(COLUMNS)}) select {commas(COLUMNS)} "  # noqa: S608 - constants
    f"from jsonb_populate_recordset(null::run_attempts, $1::jsonb) {_KEPT}"
)


async def keep_followed(connection: asyncpg.Connection, run_ids: Iterable[UUID]) -> None:
    """Keep the attempts that `runs` holds of these runs, before newer ones take their place."""
    if wanted := sorted(run_ids):
        await connection.execute(FOLLOWED, wanted)


async def keep_late(connection: asyncpg.Connection, records: Iterable[RunRow]) -> None:
    """Keep the ends of attempts that others have followed already."""
    if found := [row_of(record) for record in records if record.ended_at is not None]:
        await connection.execute(LATE, rows(found))


def row_of(record: RunRow) -> dict[str, object]:
    """The attempt that `record` speaks of, by column."""
    error = record.error
    fields = {name: getattr(record, name, None) for name in COLUMNS.split()}
    return fields | {
        "attempt": attempt_of(record),
        "error_type": error.type if error else None,
        "error_message": error.message if error else None,
    }
