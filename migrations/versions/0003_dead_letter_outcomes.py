"""What became of a dead letter: sent again, or given up with a reason. Nothing is deleted."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# Defaults, so that a sink of the version before goes on writing.
COLUMNS = """
alter table dead_letters
    add column status text not null default 'open' check (status in ('open', 'redriven', 'discarded')),
    add column redriven_at timestamptz,
    add column redriven_count integer not null default 0,
    add column redriven_by text,
    add column discarded_at timestamptz,
    add column discarded_by text,
    add column discard_reason text
"""

VIEW = """
create or replace view reporting.dead_letters as
select d.dead_letter_id, d.reason, d.detail, d.sqlstate, d.source_topic, d.source_partition, d.source_offset,
    d.log_epoch, d.source_timestamp, octet_length(d.value) as value_bytes, d.failed_at,
    d.status, d.redriven_at, d.redriven_count, d.redriven_by, d.discarded_at, d.discarded_by, d.discard_reason
from public.dead_letters d
"""

COMMENTS = {
    "status": "open, redriven (sent again) or discarded (given up)",
    "redriven_at": "When it was last sent again, UTC",
    "redriven_count": "How often it was sent again",
    "redriven_by": "Who sent it again last: user@host",
    "discarded_at": "When it was given up, UTC",
    "discarded_by": "Who gave it up: user@host",
    "discard_reason": "Why it was given up, in words",
}


def upgrade() -> None:
    connection = op.get_bind()
    connection.exec_driver_sql(COLUMNS)
    connection.exec_driver_sql(VIEW)
    for column, comment in COMMENTS.items():
        connection.exec_driver_sql(f"comment on column reporting.dead_letters.{column} is '{comment}'")
