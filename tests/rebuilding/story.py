"""A log of everything that the sink stores, and what a person and the notifier add to its tables."""

from __future__ import annotations

from datetime import timedelta

import asyncpg

from sinking import records
from sinking.records import NOON, name_id
from watchline.schemas.records import EPOCH_SHIFT, DeadLetter, IncidentRecord, PipelineRecord, PulseRecord, SinkRecord

PARENTS = 3  # runs in a chain


def story(first: int, last: int, *, partition: int = 0, log_epoch: int = 0) -> list[SinkRecord | bytes]:
    """What a partition holds of a pipeline of its own: runs in families, pulses, and with every fifth run the rest."""
    found: list[SinkRecord | bytes] = []
    for number in range(first, last):
        name, revision = f"run {number}", (log_epoch << EPOCH_SHIFT) + 100 * number
        parent = name_id(f"run {number - 1}") if number % PARENTS else None
        at = NOON + timedelta(hours=number)
        found += [
            records.started(name, revision=revision + 1, parent_run_id=parent, started_at=at),
            records.ended(
                name, revision=revision + 2, started_at=at, ended_at=at + timedelta(minutes=5), inserts=number,
                status="failed" if number % 4 == 1 else "succeeded",
            ),
            PulseRecord(revision=revision + 9, partition=partition, at=at, events=2),
        ]  # fmt: skip
        if number % 4 == 1:  # tried again
            found.append(records.started(name, revision=revision + 3, attempt=2, started_at=at, parent_run_id=parent))
        if number % 5 == 0:
            found += rarer(number, revision)
    return [of_pipeline(one, f"orders_{partition}") for one in found]


def rarer(number: int, revision: int) -> list[SinkRecord | bytes]:
    """What comes with every fifth run."""
    incident, at = f"incident {number}", NOON + timedelta(hours=number)
    found: list[SinkRecord | bytes] = [
        records.declared(
            revision=revision + 3, owner=f"owner {number}", at=at,
            targets=({"name": f"orders_{number % 2}", "type": "snowflake", "group": "warehouse"},),
        ),
        records.declared(revision=revision + 4, at=at, targets=({"name": f"passing_{number}", "type": "s3"},)),
        records.declared(revision=revision + 5, owner=f"owner {number}", at=at + timedelta(minutes=1)),
        records.advanced(f"2026-12-{number // 5 + 1:02}", revision=revision + 4),
        records.anomaly(revision=revision + 5, anomaly_id=name_id(incident), run_id=name_id(f"run {number}")),
        records.incident(incident, revision=revision + 5, at=at, opened_at=at, cause_at=at),
        records.slot(revision=revision + 6, due_at=at, state="met", run_id=name_id(f"run {number}"), started_at=at),
        records.command(revision=revision + 7, incident_id=name_id(incident)),
        records.command(
            "feedback.given", revision=revision + 8, run_id=name_id(f"run {number}"), metrics=("inserts",)
        ),
        records.letter(number, failed_at=at),
        b"\xff no record %d" % number,  # the sink refuses it by itself
    ]  # fmt: skip
    if number % 10:
        over = at + timedelta(hours=1)
        found.append(
            records.resolved(incident, revision=revision + 6, at=over, opened_at=at, cause_at=at, resolved_at=over)
        )
    return found


def of_pipeline(record: SinkRecord | bytes, pipeline: str) -> SinkRecord | bytes:
    """The same of another pipeline."""
    if isinstance(record, bytes | DeadLetter | PulseRecord):
        return record
    changes: dict[str, object] = {"pipeline": pipeline}
    if isinstance(record, PipelineRecord):
        changes["declaration"] = record.declaration.model_copy(update={"pipeline": pipeline})
    if isinstance(record, IncidentRecord):
        changes["fingerprint"] = f"{pipeline}/anomaly"
    return record.model_copy(update=changes)


async def decide(connection: asyncpg.Connection) -> None:
    """A letter is redriven, another one discarded; the notifier tells of an incident and opens one of its own."""
    await connection.execute(
        "update dead_letters set status = 'redriven', redriven_at = now(), redriven_count = 1, redriven_by = 'ada@etl' "
        "where dead_letter_id = (select min(dead_letter_id) from dead_letters)"
    )
    await connection.execute(
        "update dead_letters set status = 'discarded', discarded_at = now(), discarded_by = 'ada@etl', "
        "discard_reason = 'noise' where dead_letter_id = (select max(dead_letter_id) from dead_letters)"
    )
    await connection.execute("update alert_outbox set state = 'sent', sent_at = now() where transition = 'opened'")
    await connection.execute(
        "insert into incidents (incident_id, fingerprint, pipeline, kind, status, severity, title, opened_at, cause_at,"
        " updated_at, transition_no, revision) values ($1, 'own', 'watchline', 'ingestion', 'open', 'fail', 'silent', "
        "now(), now(), now(), 1, 0)",
        name_id("ingestion"),
    )
    await connection.execute(
        "insert into incident_events (incident_id, transition_no, transition, severity, at, record, revision) "
        "values ($1, 1, 'opened', 'fail', now(), '{}', 0)",
        name_id("ingestion"),
    )


DAMAGE = """
delete from runs where inserts % 3 = 0;
update runs set status = 'succeeded', duration_seconds = 1, revision = revision + 50 where status = 'failed';
insert into runs (run_id, pipeline, status, revision) values (gen_random_uuid(), 'orders_daily', 'running', 7);
delete from run_ancestry where depth > 1;
update pipelines set owner = 'nobody';
delete from pipeline_versions; delete from lineage_edges; delete from datasets;
update watermarks set effective = 'wrong'; delete from watermark_history;
update anomalies set score = 0; update expected_runs set state = 'missed';
delete from incidents where revision > 0 and status = 'resolved';
update incidents set title = 'falsified' where revision > 0; delete from incident_events where revision > 0;
delete from commands; update anomaly_feedback set verdict = 'expected';
update dead_letters set reason = 'falsified', value = null; update ingestion set pulse_at = now();
update ingestion_hours set events = events + 1; delete from run_attempts
"""
