-- The parent by its key: asked whether one exists, the planner may read all runs of the last five minutes and before.
create or replace view reporting.runs as
select r.run_id, r.pipeline, p.type as pipeline_type, p.owner, r.parent_run_id, r.attempt, r.status,
    r.started_at, r.ended_at, r.duration_seconds, r.nominal_at,
    coalesce(r.backfill, false) as backfill, r.inserts, r.updates, r.deletes,
    r.total_rows, r.throughput, r.metrics, r.error_type, r.error_message, r.watermark, r.next_watermark,
    r.overdue, r.anomalous,
    coalesce(r.labels_started, '{{}}') || coalesce(r.labels_ended, '{{}}') as labels,
    coalesce(r.metadata_started, '{{}}') || coalesce(r.metadata_ended, '{{}}') as metadata,
    r.producer_host, r.flags as quality_flags, r.stored_at,
    r.ended_at is null and coalesce((
        select m.ended_at < now() - interval '5 minutes' from public.runs m
        where m.run_id = r.parent_run_id), false) as orphaned,
    coalesce((
        select a.ancestor from public.run_ancestry a
        where a.descendant = r.run_id order by a.depth desc limit 1), r.run_id) as root_run_id
from public.runs r left join public.pipelines p using (pipeline)
