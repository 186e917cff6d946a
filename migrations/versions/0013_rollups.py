"""Days of pipelines are kept as they are counted, so that views answer at size; see docs/adr/0011.

The SQL stands in `migrations/views/0013`. Databases that have runs get a mark for each of their cells: the views are
exact at once, and as fast as they should be when the sink has folded the marks.
"""

from __future__ import annotations

import re
from pathlib import Path

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

SCRIPTS = Path(__file__).parents[1] / "views" / "0013"
END = re.compile(r";\n+(?=comment |create |--)")
LOCK = "7226924005"  # any number that nothing else of Watchline locks
KEY = ["day", "pipeline"]
VALUES = (
    "runs succeeded failed aborted unknown running inserts updates deletes total_rows duration_seconds timed_runs "
    "timed_seconds median_duration_seconds p95_duration_seconds counted_rows counted_seconds anomalous overdue "
    "backfills retried met late missed excused unseen"
)
WEEKLY = "runs failed ended timed_runs timed_seconds changed_rows"
PARTS = {
    "lock": LOCK,
    "run_day": "'(coalesce(started_at, ended_at) at time zone ''UTC'')::date'",
    "slot_day": "'(due_at at time zone ''UTC'')::date'",
    "columns": ", ".join([*KEY, *VALUES.split()]),
    "stored": ", ".join(f"d.{name}" for name in (*KEY, *VALUES.split())),
    "changes": ", ".join(f"{name} = excluded.{name}" for name in VALUES.split()),
    "week": (
        "sum(d.runs) as runs, sum(d.failed + d.aborted) as failed, sum(d.runs - d.running) as ended, "
        "sum(d.timed_runs) as timed_runs, sum(d.timed_seconds) as timed_seconds, "
        "sum(d.inserts + d.updates + d.deletes) as changed_rows"
    ),
    "week_columns": ", ".join(["week", "pipeline", *WEEKLY.split()]),
    "week_changes": ", ".join(f"{name} = excluded.{name}" for name in WEEKLY.split()),
    "cell": (SCRIPTS / "cell.sql").read_text().rstrip(),
}
MARK = """
insert into stale_days (day, pipeline)
select (coalesce(started_at, ended_at) at time zone 'UTC')::date, pipeline from runs
    where started_at is not null or ended_at is not null
union
select (due_at at time zone 'UTC')::date, pipeline from expected_runs
"""


def upgrade() -> None:
    connection = op.get_bind()
    for name in ("tables", "marks", "fold", "days", "weeks", "sla", "runs", "indexes"):
        for statement in END.split((SCRIPTS / f"{name}.sql").read_text().format(**PARTS)):
            connection.exec_driver_sql(statement)
    connection.exec_driver_sql(MARK)
