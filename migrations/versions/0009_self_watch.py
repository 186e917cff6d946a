"""Ingestion can have an incident of its own, and alerts of absence are held while it has one."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# All kinds and states that there are, those of the migrations before included, in whatever order they came.
CHANGES = """
alter table incidents drop constraint incidents_kind_check;

alter table incidents add constraint incidents_kind_check check (kind in (
    'anomaly', 'freshness', 'timeliness', 'failure', 'missed_start', 'lost', 'ingestion'));

alter table alert_outbox drop constraint alert_outbox_state_check;

alter table alert_outbox add constraint alert_outbox_state_check
    check (state in ('pending', 'held', 'inhibited', 'sent', 'suppressed', 'failed'));

create index alert_outbox_held on alert_outbox (created_at) where state = 'held'
"""

COMMENTS = {
    "incidents.kind": (
        "anomaly, freshness, timeliness, failure, missed_start, lost; or ingestion: Watchline itself hears less "
        "than it should"
    ),
}


def upgrade() -> None:
    connection = op.get_bind()
    for statement in CHANGES.split(";\n\n"):
        connection.exec_driver_sql(statement)
    for column, comment in COMMENTS.items():
        connection.exec_driver_sql(f"comment on column reporting.{column} is '{comment}'")
