"""Lost runs have incidents of their own kind, failed attempts are kept, and how far the log was read is known."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

KINDS = """
alter table incidents
    drop constraint incidents_kind_check,
    add constraint incidents_kind_check
        check (kind in ('anomaly', 'freshness', 'timeliness', 'failure', 'missed_start', 'lost'))
"""

ATTEMPTS = """
create table run_attempts (
    run_id uuid not null,
    attempt integer not null,
    pipeline text not null,
    status text not null check (status in ('succeeded', 'failed', 'aborted', 'unknown')),
    ended_at timestamptz not null,
    duration_seconds numeric,
    error_type text,
    error_message text,
    end_event_id uuid not null,
    stored_at timestamptz not null default now(),
    primary key (run_id, attempt)
);

create index run_attempts_pipeline_ended on run_attempts (pipeline, ended_at desc);

create view reporting.run_attempts as
select a.run_id, a.pipeline, a.attempt, a.status, a.ended_at, a.duration_seconds, a.error_type, a.error_message
from public.run_attempts a
union all
select r.run_id, r.pipeline, coalesce(r.attempt, 1), r.status, r.ended_at, r.duration_seconds, r.error_type,
    r.error_message
from public.runs r
"""

RUNS = """
create or replace view reporting.runs as
select r.run_id, r.pipeline, p.type as pipeline_type, p.owner, r.parent_run_id, r.attempt, r.status,
    r.started_at, r.ended_at, r.duration_seconds, r.nominal_at,
    coalesce(r.backfill, false) as backfill, r.inserts, r.updates, r.deletes,
    r.total_rows, r.throughput, r.metrics, r.error_type, r.error_message, r.watermark, r.next_watermark,
    r.overdue, r.anomalous,
    coalesce(r.labels_started, '{}') || coalesce(r.labels_ended, '{}') as labels,
    coalesce(r.metadata_started, '{}') || coalesce(r.metadata_ended, '{}') as metadata,
    r.producer_host, r.flags as quality_flags, r.stored_at,
    r.ended_at is null and exists (
        select from public.runs m
        where m.run_id = r.parent_run_id and m.ended_at < now() - interval '5 minutes') as orphaned
from public.runs r left join public.pipelines p using (pipeline)
"""

INGESTION = """
create table ingestion (
    log_epoch integer not null,
    partition integer not null,
    pulse_at timestamptz not null,
    revision bigint not null,
    stored_at timestamptz not null default now(),
    primary key (log_epoch, partition)
);

create table ingestion_hours (
    hour timestamptz primary key,
    events bigint not null
);

create view reporting.ingestion as
select i.partition, i.pulse_at, extract(epoch from now() - i.pulse_at) as behind_seconds,
    extract(epoch from i.stored_at - i.pulse_at) as delay_seconds, i.stored_at
from public.ingestion i
where i.log_epoch = (select max(log_epoch) from public.ingestion)
"""

COMMENTS = {
    "ingestion": "One row per partition of the runs: how far it has been read",
    "ingestion.partition": "Number of the partition",
    "ingestion.pulse_at": "The newest pulse that has come through it all the way to here, UTC",
    "ingestion.behind_seconds": "How old that pulse is, in seconds; up to about 40 when all is well",
    "ingestion.delay_seconds": "How long that pulse took to come here, in seconds: so late is all of the partition",
    "ingestion.stored_at": "When this row last changed",
    "run_attempts": "One row per try of a run; the one with the highest number is the run as it stands",
    "run_attempts.run_id": "The run",
    "run_attempts.pipeline": "Name of the pipeline that ran",
    "run_attempts.attempt": "1 for the first try",
    "run_attempts.status": "How the try ended, or that it is running or lost",
    "run_attempts.ended_at": "When the try ended, UTC",
    "run_attempts.duration_seconds": "How long the try took, in seconds",
    "run_attempts.error_type": "Class of the error that ended it",
    "run_attempts.error_message": "Text of the error that ended it",
    "incidents.kind": "anomaly, freshness, timeliness, failure, missed_start or lost",
    "incidents.subject": "The run for timeliness and lost, else empty",
    "runs.status": (
        "running, succeeded, failed, aborted, unknown (ended without a usable status) or lost (three heartbeats in a "
        "row were missed; it may come back)"
    ),
    "runs.orphaned": "True when it is still open and the run that started it ended more than five minutes ago",
    "runs.overdue": "True when it took longer than its limit: declared, else learned from its pipeline, else a day",
    "runs.quality_flags": (
        "What had to be repaired in the run''s events; false_lost when it was taken for lost and was not"
    ),
}


def upgrade() -> None:
    connection = op.get_bind()
    connection.exec_driver_sql(KINDS)
    connection.exec_driver_sql(RUNS)
    for statement in (*ATTEMPTS.split(";\n\n"), *INGESTION.split(";\n\n")):
        connection.exec_driver_sql(statement)
    for name, comment in COMMENTS.items():
        kind = "column" if "." in name else "view"
        connection.exec_driver_sql(f"comment on {kind} reporting.{name} is '{comment}'")
