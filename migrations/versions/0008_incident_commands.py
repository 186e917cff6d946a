"""What people decide: incidents acknowledged and snoozed, every command with its outcome, feedback on anomalies."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TABLES = """
alter table incidents
    add column acknowledged_at timestamptz,
    add column acknowledged_by text,
    add column snoozed_until timestamptz,
    add column note text,
    add column state text generated always as (
        case when status = 'open' and acknowledged_at is not null then 'acknowledged' else status end) stored;

alter table incident_events
    drop constraint incident_events_transition_check,
    add constraint incident_events_transition_check check (transition in (
        'opened', 'updated', 'resolved', 'acknowledged', 'snoozed', 'woken'));

alter table alert_outbox
    drop constraint alert_outbox_transition_check,
    add constraint alert_outbox_transition_check check (transition in (
        'opened', 'updated', 'resolved', 'acknowledged', 'snoozed', 'woken'));

create table commands (
    event_id uuid primary key,
    pipeline text not null,
    command text not null,
    at timestamptz not null,
    given_by text,
    note text,
    outcome text not null check (outcome in ('applied', 'ignored')),
    detail text not null default '',
    incident_id uuid,
    run_id uuid,
    check_name text,
    until timestamptz,
    verdict text check (verdict in ('expected', 'false_positive', 'new_normal')),
    metrics text[] not null default '{}',
    revision bigint not null,
    stored_at timestamptz not null default now()
);

create index commands_pipeline_at on commands (pipeline, at desc);

create table anomaly_feedback (
    pipeline text not null,
    run_id uuid not null,
    metric text not null,
    verdict text not null check (verdict in ('expected', 'false_positive', 'new_normal')),
    given_by text,
    given_at timestamptz not null,
    note text,
    event_id uuid not null,
    learnt boolean not null,
    revision bigint not null,
    stored_at timestamptz not null default now(),
    primary key (pipeline, run_id, metric)
)
"""

VIEWS = """
create or replace view reporting.anomalies as
select a.anomaly_id, a.pipeline, a.run_id, a.metric, a.value, a.expected, a.lower, a.upper, a.score,
    a.z_limit, a.baseline_runs, a.seasons, a.reason, a.rule, a.muted, a.run_started_at, a.run_ended_at,
    f.verdict as feedback, f.given_by as feedback_by, f.given_at as feedback_at
from public.anomalies a left join lateral (
    select verdict, given_by, given_at from public.anomaly_feedback o
    where o.pipeline = a.pipeline and o.run_id = a.run_id and o.metric in (a.metric, '*')
    order by o.learnt desc, o.revision desc limit 1) f on true;

create or replace view reporting.incidents as
select i.incident_id, i.pipeline, i.kind, i.subject, i.state as status, i.severity, i.title, i.owner, i.pipeline_type,
    i.run_id, i.facts, i.opened_at, i.cause_at, i.resolved_at, i.resolve_reason,
    extract(epoch from coalesce(i.resolved_at, now()) - i.opened_at) as open_seconds, i.fingerprint,
    i.acknowledged_at, i.acknowledged_by, i.snoozed_until, i.note
from public.incidents i;

create view reporting.commands as
select c.event_id, c.pipeline, c.command, c.at, c.given_by, c.note, c.outcome, c.detail, c.incident_id, c.run_id,
    c.check_name, c.until, c.verdict, c.metrics
from public.commands c
"""

COMMENTS = {
    "anomalies.feedback": "What a person said of it: expected, false_positive or new_normal; null when nobody did",
    "anomalies.feedback_by": "Who said so, as user@host",
    "anomalies.feedback_at": "When they said so, UTC",
    "incidents.status": "open, acknowledged or resolved",
    "incidents.acknowledged_at": "When somebody took care of it, UTC; null again when it got worse",
    "incidents.acknowledged_by": "Who takes care of it, as user@host",
    "incidents.snoozed_until": "No messages about it before then, UTC; null when it is not snoozed",
    "incidents.note": "What the person said who acknowledged, snoozed or resolved it",
    "commands": "One row per command of a person, and per feedback, with what became of it",
    "commands.event_id": "Identifies the command",
    "commands.pipeline": "Name of the pipeline that it is about",
    "commands.command": (
        "incident.acknowledged, incident.resolved, incident.snoozed, pipeline.muted, pipeline.unmuted or feedback.given"
    ),
    "commands.at": "When it was given, UTC",
    "commands.given_by": "Who gave it, as user@host",
    "commands.note": "Why, in their words",
    "commands.outcome": "applied, or ignored when it could change nothing",
    "commands.detail": "Why it was ignored",
    "commands.incident_id": "The incident that it is about",
    "commands.run_id": "The run that feedback is about",
    "commands.check_name": "The check that was muted or unmuted; all for every one",
    "commands.until": "When the mute or the snooze ends, UTC",
    "commands.verdict": "The feedback: expected, false_positive or new_normal",
    "commands.metrics": "The metrics that feedback is about; empty for all of the run",
}


def upgrade() -> None:
    connection = op.get_bind()
    for statement in (*TABLES.split(";\n\n"), *VIEWS.split(";\n\n")):
        connection.exec_driver_sql(statement)
    for name, comment in COMMENTS.items():
        kind = "column" if "." in name else "view"
        connection.exec_driver_sql(f"comment on {kind} reporting.{name} is '{comment}'")
