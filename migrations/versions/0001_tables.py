"""The tables that runs, declarations, watermarks, anomalies, incidents and dead letters fill.

No foreign keys from what streams write: rows of different partitions arrive in any order.
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

PIPELINES = """
create table pipelines (
    pipeline text primary key,
    type text,
    active boolean not null default true,
    owner text,
    tags text[] not null default '{}',
    metadata jsonb not null default '{}',
    freshness_seconds numeric,
    timeliness_seconds numeric,
    schedule_cron text,
    schedule_timezone text,
    schedule_grace_seconds numeric,
    default_watermark text,
    watermark_kind text not null default 'text' check (watermark_kind in ('timestamp', 'integer', 'text')),
    config_hash text,
    declaration jsonb,
    declared_at timestamptz,
    first_seen_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    revision bigint not null default 0
);

create table pipeline_versions (
    pipeline text not null,
    config_hash text not null,
    declaration jsonb not null,
    first_declared_at timestamptz not null,
    last_declared_at timestamptz not null,
    first_revision bigint not null,
    last_revision bigint not null,
    primary key (pipeline, config_hash)
);

create table pipeline_types (
    type text primary key,
    freshness_seconds numeric,
    timeliness_seconds numeric,
    mutes jsonb not null default '[]',
    declared_by text,
    declared_at timestamptz,
    first_seen_at timestamptz not null default now()
);

create table datasets (
    dataset_id uuid primary key,
    name text not null,
    type text not null,
    dataset_group text not null,
    first_declared_at timestamptz not null,
    last_declared_at timestamptz not null
);

create table lineage_edges (
    source uuid not null references datasets,
    target uuid not null references datasets,
    pipeline text not null,
    declared_at timestamptz not null,
    revision bigint not null,
    primary key (pipeline, source, target)
);

create index lineage_edges_source on lineage_edges (source);

create index lineage_edges_target on lineage_edges (target)
"""

RUNS = """
create table runs (
    run_id uuid primary key,
    pipeline text not null,
    parent_run_id uuid,
    attempt integer,
    started_at timestamptz,
    nominal_at timestamptz,
    backfill boolean,
    heartbeat_seconds numeric,
    watermark text,
    next_watermark text,
    last_heartbeat_at timestamptz,
    status text not null check (status in ('running', 'succeeded', 'failed', 'aborted', 'unknown', 'lost')),
    reported_status text,
    end_event_id uuid,
    ended_at timestamptz,
    duration_seconds numeric,
    inserts bigint check (inserts >= 0),
    updates bigint check (updates >= 0),
    deletes bigint check (deletes >= 0),
    total_rows bigint check (total_rows >= 0),
    throughput double precision,
    metrics jsonb not null default '{}',
    error_type text,
    error_message text,
    overdue boolean not null default false,
    anomalous boolean not null default false,
    flags text[] not null default '{}',
    labels_started jsonb,
    labels_ended jsonb,
    metadata_started jsonb,
    metadata_ended jsonb,
    producer_host text,
    revision bigint not null,
    stored_at timestamptz not null default now()
) with (fillfactor = 80);

create index runs_pipeline_started on runs (pipeline, started_at desc);

create index runs_parent on runs (parent_run_id) where parent_run_id is not null;

create table run_ancestry (
    descendant uuid not null,
    ancestor uuid not null,
    depth integer not null check (depth > 0),
    primary key (descendant, ancestor)
);

create index run_ancestry_ancestor on run_ancestry (ancestor)
"""

WATERMARKS = """
create table watermarks (
    pipeline text not null,
    dataset text not null,
    kind text not null check (kind in ('timestamp', 'integer', 'text')),
    watermark text not null,
    effective text not null,
    effective_at timestamptz not null,
    occurred_at timestamptz not null,
    event_id uuid not null,
    run_id uuid,
    regressed boolean not null,
    regressions integer not null,
    flags text[] not null default '{}',
    revision bigint not null,
    updated_at timestamptz not null default now(),
    primary key (pipeline, dataset)
);

create table watermark_history (
    event_id uuid primary key,
    pipeline text not null,
    dataset text not null,
    kind text not null check (kind in ('timestamp', 'integer', 'text')),
    watermark text not null,
    effective text not null,
    effective_at timestamptz not null,
    occurred_at timestamptz not null,
    run_id uuid,
    regressed boolean not null,
    flags text[] not null default '{}',
    revision bigint not null,
    stored_at timestamptz not null default now()
);

create index watermark_history_place on watermark_history (pipeline, dataset, occurred_at desc)
"""

ANOMALIES = """
create table anomalies (
    anomaly_id uuid primary key,
    pipeline text not null,
    run_id uuid not null,
    metric text not null,
    value double precision not null,
    expected double precision,
    lower double precision,
    upper double precision,
    score double precision not null,
    z_limit double precision not null,
    baseline_runs integer not null,
    seasons text[] not null default '{}',
    reason text not null check (reason in ('point', 'sustained', 'zero', 'static')),
    rule text not null,
    run_started_at timestamptz not null,
    run_ended_at timestamptz not null,
    muted boolean not null,
    revision bigint not null,
    stored_at timestamptz not null default now()
);

create index anomalies_pipeline_ended on anomalies (pipeline, run_ended_at desc);

create index anomalies_run on anomalies (run_id)
"""

INCIDENTS = """
create table incidents (
    incident_id uuid primary key,
    fingerprint text not null,
    pipeline text not null,
    kind text not null check (kind in ('anomaly', 'freshness', 'timeliness', 'failure')),
    subject text not null default '',
    status text not null check (status in ('open', 'resolved')),
    severity text not null check (severity in ('warn', 'fail')),
    title text not null,
    owner text,
    pipeline_type text,
    run_id uuid,
    facts jsonb not null default '[]',
    opened_at timestamptz not null,
    cause_at timestamptz not null,
    updated_at timestamptz not null,
    resolved_at timestamptz,
    resolve_reason text check (resolve_reason in (
        'recovered', 'arrived_late', 'expired', 'manual', 'paused', 'removed', 'adopted', 'superseded')),
    transition_no integer not null,
    revision bigint not null,
    stored_at timestamptz not null default now()
);

create unique index incidents_one_open on incidents (fingerprint) where status = 'open';

create index incidents_pipeline_opened on incidents (pipeline, opened_at desc);

create table incident_events (
    incident_id uuid not null,
    transition_no integer not null,
    transition text not null check (transition in ('opened', 'updated', 'resolved')),
    severity text not null check (severity in ('warn', 'fail')),
    at timestamptz not null,
    resolve_reason text,
    record jsonb not null,
    revision bigint not null,
    stored_at timestamptz not null default now(),
    primary key (incident_id, transition_no)
);

create table alert_outbox (
    alert_id bigint generated always as identity primary key,
    incident_id uuid not null,
    fingerprint text not null,
    transition_no integer not null,
    transition text not null check (transition in ('opened', 'updated', 'resolved')),
    severity text not null check (severity in ('warn', 'fail')),
    pipeline text not null,
    kind text not null,
    owner text,
    payload jsonb not null,
    created_at timestamptz not null default now(),
    cause_at timestamptz not null,
    state text not null default 'pending' check (state in ('pending', 'sent', 'suppressed', 'failed')),
    suppressed_reason text,
    attempts integer not null default 0,
    next_attempt_at timestamptz not null default now(),
    claimed_by text,
    lease_until timestamptz,
    last_error text,
    sent_at timestamptz,
    unique (incident_id, transition_no)
);

create index alert_outbox_pending on alert_outbox (next_attempt_at) where state = 'pending';

create index alert_outbox_repeated on alert_outbox (next_attempt_at)
    where state in ('sent', 'failed') and next_attempt_at < 'infinity';

create index alert_outbox_leased on alert_outbox (lease_until) where lease_until is not null;

create index alert_outbox_pipeline_sent on alert_outbox (pipeline, sent_at);

create table alert_deliveries (
    delivery_id bigint generated always as identity primary key,
    alert_id bigint not null references alert_outbox,
    channel text not null,
    attempted_at timestamptz not null default now(),
    outcome text not null check (outcome in ('accepted', 'retry', 'rejected')),
    http_status integer,
    detail text
);

create index alert_deliveries_alert on alert_deliveries (alert_id)
"""

KEEPING = """
create table dead_letters (
    dead_letter_id bigint generated always as identity primary key,
    reason text not null,
    detail text not null,
    sqlstate text,
    source_topic text not null,
    source_partition integer not null,
    source_offset bigint not null,
    log_epoch integer not null,
    source_timestamp timestamptz,
    key bytea,
    value bytea,
    headers jsonb not null default '[]',
    failed_at timestamptz not null,
    stored_at timestamptz not null default now(),
    unique (source_topic, source_partition, source_offset, log_epoch)
);

create table sink_offsets (
    log_epoch integer not null,
    topic text not null,
    partition integer not null,
    next_offset bigint,
    fence bigint not null,
    owner text not null,
    updated_at timestamptz not null default now(),
    primary key (log_epoch, topic, partition)
)
"""


def upgrade() -> None:
    for script in (PIPELINES, RUNS, WATERMARKS, ANOMALIES, INCIDENTS, KEEPING):
        for statement in script.split(";\n\n"):
            op.get_bind().exec_driver_sql(statement)
