"""Where an alert is told, which message tells it, what it waits for, and whether its sending was ever answered.

All columns have defaults, so that a sink of the version before goes on writing; a notifier of that version goes on
too, without storms and inhibition.
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

COLUMNS = """
alter table alert_outbox
    add column destination text,
    add column group_key text,
    add column quiet boolean not null default false,
    add column message_id bigint,
    add column storm_id bigint,
    add column inhibited_by uuid,
    add column inhibited_at timestamptz,
    add column refresh_at timestamptz,
    add column delivery_key uuid,
    add column in_doubt_since timestamptz,
    add column unanswered integer not null default 0;

alter table alert_outbox drop constraint alert_outbox_state_check;

alter table alert_outbox add constraint alert_outbox_state_check
    check (state in ('pending', 'sent', 'suppressed', 'failed', 'inhibited'));

alter table alert_outbox drop constraint alert_outbox_transition_check;

alter table alert_outbox add constraint alert_outbox_transition_check
    check (transition in ('opened', 'updated', 'acknowledged', 'snoozed', 'woken', 'resolved'));

create index alert_outbox_unaddressed on alert_outbox (alert_id)
    where destination is null and (state in ('pending', 'inhibited') or next_attempt_at < 'infinity');

create index alert_outbox_opened on alert_outbox (created_at) where transition = 'opened';

create index alert_outbox_group_sent on alert_outbox (group_key, sent_at);

create index alert_outbox_inhibited on alert_outbox (inhibited_by) where state = 'inhibited';

create index alert_outbox_refreshed on alert_outbox (refresh_at) where refresh_at is not null;

create index alert_outbox_message on alert_outbox (message_id) where message_id is not null;

create index alert_outbox_storm on alert_outbox (storm_id) where storm_id is not null
"""

TABLES = """
create table alert_messages (
    message_id bigint generated always as identity primary key,
    channel text not null,
    channel_id text not null,
    ts text not null,
    posted_at timestamptz not null default now(),
    unique (channel_id, ts)
);

create table alert_storms (
    storm_id bigint generated always as identity primary key,
    destination text not null,
    began_at timestamptz not null default now(),
    ended_at timestamptz
);

create unique index alert_storms_one_open on alert_storms (destination) where ended_at is null
"""


def upgrade() -> None:
    for script in (COLUMNS, TABLES):
        for statement in script.split(";\n\n"):
            op.get_bind().exec_driver_sql(statement)
