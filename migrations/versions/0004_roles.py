"""The roles `watchline_writer`, `watchline_notifier` and `watchline_reader`, where we may create them.

Every `watchline migrate` does this again and grants what today's tables need: a dump restored on another server finds
its roles, and one whose roles an administrator made later gets its rights. Without them nothing but the login changes.
"""

from __future__ import annotations

from alembic import op

from watchline.consumers.roles import ROLES, creation

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for role in ROLES:
        op.get_bind().exec_driver_sql(creation(role))
