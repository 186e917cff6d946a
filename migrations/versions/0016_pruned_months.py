"""A month whose incidents have been pruned has no share of fresh data: without them all of it would count as fresh."""

from __future__ import annotations

import re

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

LIMITED = re.compile(r"\bWHEN f\.limited THEN\b")
WHOLE = """WHEN f.limited AND f.begins >= coalesce(
    (select k.kept_from from public.retention k where k.table_name = 'incidents'), '-infinity') THEN"""
COMMENTS = {
    "runs.root_run_id": (
        "The run at the top of the chain of parents, which is followed a hundred steps; the run itself without one"
    ),
    "sla.stale_seconds": (
        "How long in the month an incident of freshness and of severity fail was open, in seconds; what was pruned is "
        "not in it"
    ),
    "sla.fresh_share": (
        "The rest of the month by its length, 0 to 1, counted from when the pipeline was first declared or heard of "
        "until now; null without a limit of freshness, and for months before the first whose incidents are all kept"
    ),
}


def upgrade() -> None:
    """Only the condition changes, whatever else of the view has been made faster before."""
    connection = op.get_bind()
    definition = connection.exec_driver_sql("select pg_get_viewdef('reporting.sla'::regclass)").scalar_one()
    changed, found = LIMITED.subn(WHOLE, definition)
    assert found == 1, definition
    connection.exec_driver_sql(f"create or replace view reporting.sla as {changed}")
    for column, comment in COMMENTS.items():
        connection.exec_driver_sql(f"comment on column reporting.{column} is '{comment}'")
