"""The views that missed their 200 ms with two million runs answer faster, with the same columns and values.

The SQL stands in `migrations/views/0015`; what was measured, and what was left as it is, in docs/adr/0013.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

SCRIPTS = Path(__file__).parents[1] / "views" / "0015"
# By what an end never changes, so that ends stay updates within their page. One column, whose values repeat: a fifth of
# the size of an index of starts.
INDEX = "create index runs_hour on runs ((date_trunc('hour', started_at at time zone 'UTC') at time zone 'UTC'))"


def upgrade() -> None:
    connection = op.get_bind()
    for statement in (INDEX, (SCRIPTS / "hourly.sql").read_text()):
        connection.exec_driver_sql(statement)
