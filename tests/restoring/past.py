"""A past of pipelines: judged by the plain fold, stored as the sink stores it, read back as `restore-state` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import asyncpg

from sinking.records import NOON
from stack.oracle import judge
from watchline.cli.restoring.translation import StoredRun
from watchline.consumers.sink.commands import store_commands
from watchline.consumers.sink.incidents import store_incidents
from watchline.consumers.sink.pipelines import SEEN, store_declarations
from watchline.consumers.sink.run_rows import row_from
from watchline.consumers.sink.run_statements import SESSION
from watchline.consumers.sink.runs import numeric, store_runs
from watchline.schemas import Event, PipelineDeclared
from watchline.schemas.records import CommandRecord, PipelineRecord, RunRecord
from watchline.streams.effects import Effects


async def store_past(dsn: str, story: Iterable[Event | datetime]) -> dict[bytes, bytes]:
    """Judge `story` (a datetime is a pulse) and put what comes of it into Postgres; the rows of the table `runs`."""
    story, rows = list(story), dict[bytes, bytes]()
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(SESSION)
        declared = [step for step in story if isinstance(step, PipelineDeclared)]
        records = [PipelineRecord(pipeline=one.pipeline, revision=1, declaration=one) for one in declared]
        async with connection.transaction():
            await store_declarations(connection, records)
            for effects in judge(story, now=datetime.now(UTC), rows=rows):
                await store_effects(connection, effects)
    finally:
        await connection.close()
    return rows


async def store_effects(connection: asyncpg.Connection, effects: Effects) -> None:
    runs = [row_from(RunRecord.model_validate(one)) for one in effects.runs]
    await connection.execute(SEEN, sorted({one.pipeline for one in runs}))
    await store_runs(connection, runs)
    await store_incidents(connection, effects.incidents, now=NOON, alert_max_age=timedelta(days=1))
    await store_commands(connection, [one for one in effects.state if isinstance(one, CommandRecord)])


def stored(record: RunRecord, *, ends: bool = True) -> StoredRun:
    """The run as it comes back from Postgres."""
    found: dict[str, Any] = {field.name: getattr(record, field.name, None) for field in fields(StoredRun)}
    error = record.error
    return StoredRun(
        **found
        | {
            "ends": ends and record.end_event_id is not None,
            "duration_seconds": numeric(record.duration_seconds),
            "heartbeat_seconds": None if record.heartbeat_seconds is None else Decimal(record.heartbeat_seconds),
            "metrics": RunRecord.model_validate(record).model_dump_json(include={"metrics"})[len('{"metrics":') : -1],
            "error_type": error.type if error else None,
            "error_message": error.message if error else None,
            "flags": list(record.flags),
        }
    )
