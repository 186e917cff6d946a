"""The `reporting` schema: views whose column comments are the contract for analysts."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

VIEWS = """
create schema reporting;

create view reporting.runs as
select r.run_id, r.pipeline, p.type as pipeline_type, p.owner, r.parent_run_id, r.attempt, r.status,
    r.started_at, r.ended_at, r.duration_seconds, r.nominal_at,
    coalesce(r.backfill, false) as backfill, r.inserts, r.updates, r.deletes,
    r.total_rows, r.throughput, r.metrics, r.error_type, r.error_message, r.watermark, r.next_watermark,
    r.overdue, r.anomalous,
    coalesce(r.labels_started, '{}') || coalesce(r.labels_ended, '{}') as labels,
    coalesce(r.metadata_started, '{}') || coalesce(r.metadata_ended, '{}') as metadata,
    r.producer_host, r.flags as quality_flags, r.stored_at
from public.runs r left join public.pipelines p using (pipeline);

create view reporting.pipelines as
select p.pipeline, p.type, p.owner, p.active, p.declaration is not null as declared, p.tags,
    last.run_id as last_run_id, last.status as last_status, last.started_at as last_started_at,
    (select max(s.ended_at) from public.runs s
        where s.pipeline = p.pipeline and s.status = 'succeeded') as last_success_at,
    w.effective as last_watermark, w.effective_at as last_watermark_at,
    (select count(*) from public.incidents i
        where i.pipeline = p.pipeline and i.status = 'open') as open_incidents,
    coalesce(p.freshness_seconds, t.freshness_seconds) as freshness_seconds,
    coalesce(p.timeliness_seconds, t.timeliness_seconds) as timeliness_seconds, p.first_seen_at
from public.pipelines p
left join public.pipeline_types t on t.type = p.type
left join public.watermarks w on w.pipeline = p.pipeline and w.dataset = ''
left join lateral (
    select r.run_id, r.status, r.started_at from public.runs r
    where r.pipeline = p.pipeline and r.started_at is not null order by r.started_at desc
    limit 1) last on true;

create view reporting.anomalies as
select a.anomaly_id, a.pipeline, a.run_id, a.metric, a.value, a.expected, a.lower, a.upper, a.score,
    a.z_limit, a.baseline_runs, a.seasons, a.reason, a.rule, a.muted, a.run_started_at, a.run_ended_at
from public.anomalies a;

create view reporting.incidents as
select i.incident_id, i.pipeline, i.kind, i.subject, i.status, i.severity, i.title, i.owner, i.pipeline_type,
    i.run_id, i.facts, i.opened_at, i.cause_at, i.resolved_at, i.resolve_reason,
    extract(epoch from coalesce(i.resolved_at, now()) - i.opened_at) as open_seconds, i.fingerprint
from public.incidents i;

create view reporting.dead_letters as
select d.dead_letter_id, d.reason, d.detail, d.sqlstate, d.source_topic, d.source_partition, d.source_offset,
    d.log_epoch, d.source_timestamp, octet_length(d.value) as value_bytes, d.failed_at
from public.dead_letters d
"""

COMMENTS = {
    "runs": {
        "": "One row per run, as merged from all of its events so far",
        "run_id": "Identifies the run",
        "pipeline": "Name of the pipeline that ran",
        "pipeline_type": "Type of the pipeline as last declared",
        "owner": "Owner of the pipeline as last declared",
        "parent_run_id": "The run that started this one",
        "attempt": "1 for the first try, 2 for the first repetition",
        "status": "running, succeeded, failed, aborted, unknown (ended without a usable status) or lost",
        "started_at": "When it started, UTC; null when the start was never heard of",
        "ended_at": "When it ended, UTC; null while it runs",
        "duration_seconds": "How long it took, in seconds",
        "nominal_at": "The time that the run was for, by its schedule",
        "backfill": "True when the run loaded the past; it then teaches no baseline",
        "inserts": "Rows inserted",
        "updates": "Rows updated",
        "deletes": "Rows deleted",
        "total_rows": "Rows in the target after the run, or as the job counts them",
        "throughput": "Rows per second",
        "metrics": "The job's own metrics, name to number",
        "error_type": "Class of the error that ended it",
        "error_message": "Text of the error that ended it",
        "watermark": "How far the data was complete before the run",
        "next_watermark": "How far the data is complete after the run",
        "overdue": "True when the run took longer than its timeliness limit",
        "anomalous": "True when a metric was outside its expected range",
        "labels": "Labels of the start and the end; the end wins",
        "metadata": "Metadata of the start and the end; the end wins",
        "producer_host": "The host that reported the run",
        "quality_flags": "What had to be repaired in the run's events",
        "stored_at": "When this row last changed",
    },
    "pipelines": {
        "": "One row per pipeline with its present state",
        "pipeline": "Name of the pipeline",
        "type": "Its declared type",
        "owner": "Its declared owner",
        "active": "False when it is declared as paused",
        "declared": "False when only runs are known of it",
        "tags": "Its declared tags",
        "last_run_id": "The run that started last",
        "last_status": "Status of the run that started last",
        "last_started_at": "When a run last started, UTC",
        "last_success_at": "When a run last succeeded, UTC",
        "last_watermark": "How far its data is complete",
        "last_watermark_at": "When that watermark was set, UTC",
        "open_incidents": "How many incidents are open now",
        "freshness_seconds": "Allowed age of the last change, its own or its type's",
        "timeliness_seconds": "Allowed duration of a run, its own or its type's",
        "first_seen_at": "When Watchline first heard of it, UTC",
    },
    "anomalies": {
        "": "One row per metric of a run that was outside its expected range",
        "anomaly_id": "Identifies the finding",
        "pipeline": "Name of the pipeline",
        "run_id": "The run that was judged",
        "metric": "The metric that was judged",
        "value": "What the run reported",
        "expected": "What was expected",
        "lower": "Lower end of the expected range",
        "upper": "Upper end of the expected range",
        "score": "Deviations from the expected value; the sign is the direction",
        "z_limit": "The score beyond which a value is flagged",
        "baseline_runs": "How many runs the expectation rests on",
        "seasons": "Which seasonal offsets were active: weekday, hour",
        "reason": "point, sustained, zero or static (outside declared bounds)",
        "rule": "The rule that flagged it",
        "muted": "True when recorded without an incident",
        "run_started_at": "When the run started, UTC",
        "run_ended_at": "When the run ended, UTC",
    },
    "incidents": {
        "": "One row per incident with its present state",
        "incident_id": "Identifies the incident",
        "pipeline": "Name of the pipeline",
        "kind": "anomaly, freshness, timeliness or failure",
        "subject": "The run for timeliness, else empty",
        "status": "open or resolved",
        "severity": "warn or fail",
        "title": "What is wrong, in a line",
        "owner": "Who owns the pipeline",
        "pipeline_type": "Type of the pipeline",
        "run_id": "The run that caused it",
        "facts": "What was seen against what was expected",
        "opened_at": "When it opened, UTC",
        "cause_at": "When its cause occurred, UTC",
        "resolved_at": "When it resolved, UTC; null while open",
        "resolve_reason": "Why it resolved; superseded means a newer incident took its place",
        "open_seconds": "How long it lasted, or has lasted, in seconds",
        "fingerprint": "Same for all incidents of one pipeline, kind and subject",
    },
    "dead_letters": {
        "": "One row per record that could not be used",
        "dead_letter_id": "Identifies the dead letter",
        "reason": "Code of what is wrong with it",
        "detail": "What is wrong with it, in words",
        "sqlstate": "The database's error code when it was the database that refused it",
        "source_topic": "Topic that it came from",
        "source_partition": "Partition that it came from",
        "source_offset": "Offset that it came from",
        "log_epoch": "Which log, counted up when a log was lost",
        "source_timestamp": "The record's own timestamp, UTC",
        "value_bytes": "Size of its value in bytes; the bytes are in public.dead_letters",
        "failed_at": "When it was refused, UTC",
    },
}


def upgrade() -> None:
    connection = op.get_bind()
    for statement in VIEWS.split(";\n\n"):
        connection.exec_driver_sql(statement)
    for view, comments in COMMENTS.items():
        for column, comment in comments.items():
            target = f"column reporting.{view}.{column}" if column else f"view reporting.{view}"
            quoted = comment.replace("'", "''")
            connection.exec_driver_sql(f"comment on {target} is '{quoted}'")
