"""How far each table has been pruned, and the few indexes that finding old rows takes.

Runs, anomalies, commands and watermarks are found by indexes that exist, one pipeline after the other. No BRIN: rows
that were deleted make room for new ones, and a range of blocks that holds both ends of time excludes nothing.
"""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TABLES = """
create table retention (
    table_name text primary key,
    noted_at timestamptz not null,
    kept_from timestamptz,
    pruned_at timestamptz,
    deleted bigint
);

create index incidents_resolved on incidents (resolved_at, incident_id) where status = 'resolved';

create index alert_messages_posted on alert_messages (posted_at);

create index dead_letters_settled on dead_letters (greatest(redriven_at, discarded_at)) where status <> 'open'
"""


def upgrade() -> None:
    for statement in TABLES.split(";\n\n"):
        op.get_bind().exec_driver_sql(statement)
