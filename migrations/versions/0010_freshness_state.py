"""How fresh the data of each pipeline is, as one word: `unknown` until something was loaded."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

VIEW = """
create or replace view reporting.pipelines as
select p.pipeline, p.type, p.owner, p.active, p.declaration is not null as declared, p.tags,
    last.run_id as last_run_id, last.status as last_status, last.started_at as last_started_at,
    (select max(s.ended_at) from public.runs s
        where s.pipeline = p.pipeline and s.status = 'succeeded') as last_success_at,
    w.effective as last_watermark, w.effective_at as last_watermark_at,
    (select count(*) from public.incidents i
        where i.pipeline = p.pipeline and i.status = 'open') as open_incidents,
    coalesce(p.freshness_seconds, t.freshness_seconds) as freshness_seconds,
    coalesce(p.timeliness_seconds, t.timeliness_seconds) as timeliness_seconds, p.first_seen_at,
    changed.ended_at as last_change_at,
    case
        when stale.severity = 'fail' then 'stale'
        when stale.severity = 'warn' then 'aging'
        when coalesce(p.freshness_seconds, t.freshness_seconds) is null
            and coalesce(p.declaration -> 'freshness', 'null') = 'null' then null
        when changed.ended_at is null then 'unknown'
        else 'fresh'
    end as freshness
from public.pipelines p
left join public.pipeline_types t on t.type = p.type
left join public.watermarks w on w.pipeline = p.pipeline and w.dataset = ''
left join public.incidents stale on stale.pipeline = p.pipeline and stale.kind = 'freshness' and stale.status = 'open'
left join lateral (
    select r.run_id, r.status, r.started_at from public.runs r
    where r.pipeline = p.pipeline and r.started_at is not null order by r.started_at desc
    limit 1) last on true
left join lateral (
    select r.ended_at from public.runs r
    where r.pipeline = p.pipeline and r.ended_at is not null and not coalesce(r.backfill, false)
        and (r.inserts > 0 or r.updates > 0 or r.deletes > 0)
    order by r.started_at desc limit 1) changed on true
"""

COMMENTS = {
    "pipelines.last_change_at": "When a run last inserted, updated or deleted something, UTC; backfills do not count",
    "pipelines.freshness": (
        "fresh, aging (beyond a limit that warns), stale, or unknown (nothing was ever loaded); null without a limit"
    ),
}


def upgrade() -> None:
    connection = op.get_bind()
    connection.exec_driver_sql(VIEW)
    for column, comment in COMMENTS.items():
        connection.exec_driver_sql(f"comment on column reporting.{column} is '{comment}'")
