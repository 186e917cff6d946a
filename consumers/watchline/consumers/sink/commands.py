"""Writing `commands`, what people decided and what became of it, and `anomaly_feedback`, what they say of verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import asyncpg

from watchline.consumers.sink.findings import row_of
from watchline.consumers.sink.statements import insert, rows, upsert
from watchline.schemas.records import CommandRecord

ALL_METRICS = "*"
# The first time counts: the same event sent twice is obeyed once, and ignored the second time.
COMMANDS = (
    insert(
        "commands",
        "event_id",
        "event_id pipeline command at given_by note outcome detail incident_id run_id check_name until verdict metrics "
        "revision",
    )
    + " on conflict do nothing"
)
# What the baselines have learnt from stays; an opinion that came too late for them gives way to the next one.
FEEDBACK = upsert(
    "anomaly_feedback",
    "pipeline run_id metric",
    "pipeline run_id metric verdict given_by given_at note event_id learnt revision",
    newer="learnt revision",
)


async def store_commands(connection: asyncpg.Connection, records: list[CommandRecord]) -> None:
    """Store what people decided, and their feedback by metric."""
    if not records:
        return
    first: dict[UUID, CommandRecord] = {}
    for record in sorted(records, key=lambda one: one.revision):
        first.setdefault(record.event_id, record)
    await connection.execute(COMMANDS, rows(map(command_row, first.values())))
    answers: dict[tuple[str, str, str], dict[str, Any]] = {}
    for answer in (each for one in first.values() for each in feedback_rows(one)):
        key = (answer["pipeline"], answer["run_id"], answer["metric"])
        held = answers.get(key)
        if held is None or (answer["learnt"], answer["revision"]) > (held["learnt"], held["revision"]):
            answers[key] = answer
    if answers:
        await connection.execute(FEEDBACK, rows(answers.values()))


def command_row(record: CommandRecord) -> dict[str, Any]:
    return row_of(record) | {"given_by": record.by, "check_name": record.check}


def feedback_rows(record: CommandRecord) -> Iterator[dict[str, Any]]:
    """The feedback of a record, one row a metric; none when it is another command."""
    if record.verdict is None or record.run_id is None:
        return
    for metric in record.metrics or (ALL_METRICS,):
        yield row_of(record) | {
            "metric": metric,
            "given_by": record.by,
            "given_at": record.at.isoformat(),
            "learnt": record.outcome == "applied",
        }
