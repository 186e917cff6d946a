"""Expected starts: one row a slot of a scheduled pipeline, and incidents for those that nobody made."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLE = """
create table expected_runs (
    pipeline text not null,
    due_at timestamptz not null,
    state text not null check (state in ('expected', 'met', 'late', 'missed', 'excused', 'unknown')),
    reason text check (reason in ('inactive', 'paused', 'muted', 'excluded', 'changed')),
    timezone text not null,
    grace_seconds numeric not null,
    run_id uuid,
    started_at timestamptz,
    decided_at timestamptz,
    until timestamptz,
    revision bigint not null,
    stored_at timestamptz not null default now(),
    primary key (pipeline, due_at)
);

create index expected_runs_due on expected_runs (due_at);

create index expected_runs_run on expected_runs (run_id) where run_id is not null
"""

KINDS = """
alter table incidents drop constraint incidents_kind_check;

alter table incidents add constraint incidents_kind_check
    check (kind in ('anomaly', 'freshness', 'timeliness', 'failure', 'missed_start'))
"""

VIEW = """
create view reporting.expected_runs as
select e.pipeline, p.type as pipeline_type, p.owner, e.due_at, e.state, e.reason, e.timezone, e.grace_seconds,
    e.run_id, e.started_at, extract(epoch from e.started_at - e.due_at) as delay_seconds, e.decided_at, e.until
from public.expected_runs e left join public.pipelines p using (pipeline)
"""

COMMENTS = {
    "view reporting.expected_runs": "One row per expected start of a scheduled pipeline, the next one included",
    "column reporting.expected_runs.pipeline": "Name of the pipeline",
    "column reporting.expected_runs.pipeline_type": "Type of the pipeline as last declared",
    "column reporting.expected_runs.owner": "Owner of the pipeline as last declared",
    "column reporting.expected_runs.due_at": "When it was to start, UTC",
    "column reporting.expected_runs.state": "expected (open), met, late (after the grace), missed, excused, or unknown "
    "(Watchline could not see)",
    "column reporting.expected_runs.reason": "Why it was excused: inactive, paused, muted, excluded (by date), changed "
    "(another schedule)",
    "column reporting.expected_runs.timezone": "Zone of the schedule",
    "column reporting.expected_runs.grace_seconds": "How late a start was allowed to be",
    "column reporting.expected_runs.run_id": "The run that started for it",
    "column reporting.expected_runs.started_at": "When that run started, UTC",
    "column reporting.expected_runs.delay_seconds": "Start of the run minus due_at; negative when it was early",
    "column reporting.expected_runs.decided_at": "When its state was decided, UTC; null while it is open",
    "column reporting.expected_runs.until": "When set, the row stands for all starts due from due_at up to then: too "
    "many to list",
    "column reporting.incidents.kind": "anomaly, freshness, timeliness, failure or missed_start",
}


def upgrade() -> None:
    connection = op.get_bind()
    for script in (TABLE, KINDS, VIEW):
        for statement in script.split(";\n\n"):
            connection.exec_driver_sql(statement)
    for target, comment in COMMENTS.items():
        connection.exec_driver_sql(f"comment on {target} is '{comment}'")
