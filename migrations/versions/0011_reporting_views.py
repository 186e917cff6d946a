"""What analysts ask for: days, hours and weeks, families of runs, service levels, times to resolve, alerts.

The SQL stands in `migrations/views/0011`, outside of where alembic looks for revisions.
"""

from __future__ import annotations

import re
from pathlib import Path

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

VIEWS = Path(__file__).parents[1] / "views" / "0011"
SCRIPTS = ("runs", "run_tree", "pipelines", "week_over_week", "incidents", "sla", "alerts")
END = re.compile(r";\n+(?=comment |create |--)")
MOMENT = "coalesce(r.started_at, r.ended_at) at time zone 'UTC'"
PERIODS = (
    {"view": "daily", "column": "day", "period": f"({MOMENT})::date"},
    {"view": "hourly", "column": "hour", "period": f"date_trunc('hour', {MOMENT}) at time zone 'UTC'"},
)


def upgrade() -> None:
    for script in SCRIPTS:
        run((VIEWS / f"{script}.sql").read_text())
    for names in PERIODS:
        run((VIEWS / "periods.sql").read_text().format(**names))


def run(script: str) -> None:
    """One statement after the other, as Postgres prepares them; within a function's body nothing ends here."""
    for statement in END.split(script):
        op.get_bind().exec_driver_sql(statement)
