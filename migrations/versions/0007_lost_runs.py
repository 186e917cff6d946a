"""A run that promised heartbeats and fell silent has an incident of its own kind."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0004"
branch_labels = None
depends_on = None

KINDS = """
alter table incidents
    drop constraint incidents_kind_check,
    add constraint incidents_kind_check check (kind in ('anomaly', 'freshness', 'timeliness', 'failure', 'lost'))
"""

COMMENTS = {
    "incidents.kind": "anomaly, freshness, timeliness, failure or lost",
    "incidents.subject": "The run for timeliness and lost, else empty",
    "runs.status": (
        "running, succeeded, failed, aborted, unknown (ended without a usable status) or lost (three heartbeats in a "
        "row were missed; it may come back)"
    ),
    "runs.overdue": "True when it took longer than its limit: declared, else learned from its pipeline, else a day",
    "runs.quality_flags": (
        "What had to be repaired in the run''s events; false_lost when it was taken for lost and was not"
    ),
}


def upgrade() -> None:
    connection = op.get_bind()
    connection.exec_driver_sql(KINDS)
    for column, comment in COMMENTS.items():
        connection.exec_driver_sql(f"comment on column reporting.{column} is '{comment}'")
