create or replace view reporting.anomalies as
select a.anomaly_id, a.pipeline, a.run_id, a.metric, a.value, a.expected, a.lower, a.upper, a.score,
    a.z_limit, a.baseline_runs, a.seasons, a.reason, a.rule, a.muted, a.run_started_at, a.run_ended_at,
    f.verdict as feedback, f.given_by as feedback_by, f.given_at as feedback_at, p.type as pipeline_type, p.owner
from public.anomalies a left join public.pipelines p on p.pipeline = a.pipeline left join lateral (
    select verdict, given_by, given_at from public.anomaly_feedback o
    where o.pipeline = a.pipeline and o.run_id = a.run_id and o.metric in (a.metric, '*')
    order by o.learnt desc, o.revision desc limit 1) f on true;

comment on column reporting.anomalies.pipeline_type is 'Type of the pipeline as last declared';
comment on column reporting.anomalies.owner is 'Owner of the pipeline as last declared';

create or replace view reporting.incidents as
select i.incident_id, i.pipeline, i.kind, i.subject, i.state as status, i.severity, i.title, i.owner, i.pipeline_type,
    i.run_id, i.facts, i.opened_at, i.cause_at, i.resolved_at, i.resolve_reason,
    extract(epoch from coalesce(i.resolved_at, now()) - i.opened_at) as open_seconds, i.fingerprint,
    i.acknowledged_at, i.acknowledged_by, i.snoozed_until, i.note,
    extract(epoch from i.acknowledged_at - i.opened_at) as acknowledge_seconds
from public.incidents i;

comment on column reporting.incidents.acknowledge_seconds is
    'How long it was open before somebody took care of it, in seconds; null when nobody did';

create view reporting.mttr as
select date_trunc('month', i.opened_at at time zone 'UTC')::date as month, i.pipeline, p.type as pipeline_type,
    p.owner, i.kind, count(*) as incidents, count(*) filter (where i.status = 'resolved') as resolved,
    count(*) filter (where i.status = 'open') as open, count(i.acknowledged_at) as acknowledged,
    avg(extract(epoch from i.acknowledged_at - i.opened_at)) as mean_acknowledge_seconds,
    avg(extract(epoch from i.resolved_at - i.opened_at)) as mean_resolve_seconds,
    (percentile_cont(0.5) within group (
        order by extract(epoch from i.resolved_at - i.opened_at)))::numeric as median_resolve_seconds,
    max(extract(epoch from i.resolved_at - i.opened_at)) as longest_resolve_seconds
from public.incidents i left join public.pipelines p using (pipeline)
group by 1, i.pipeline, p.type, p.owner, i.kind;

comment on view reporting.mttr is 'One row per pipeline, kind and month (UTC) in which incidents opened: how long they lasted';
comment on column reporting.mttr.month is 'First day of the month in which they opened';
comment on column reporting.mttr.pipeline is 'Name of the pipeline';
comment on column reporting.mttr.pipeline_type is 'Type of the pipeline as last declared';
comment on column reporting.mttr.owner is 'Owner of the pipeline as last declared';
comment on column reporting.mttr.kind is 'anomaly, freshness, timeliness, failure, missed_start, lost or ingestion';
comment on column reporting.mttr.incidents is 'How many opened';
comment on column reporting.mttr.resolved is 'How many of them are resolved';
comment on column reporting.mttr.open is 'How many of them are still open, acknowledged or not';
comment on column reporting.mttr.acknowledged is 'How many of them somebody took care of';
comment on column reporting.mttr.mean_acknowledge_seconds is
    'Average time from the opening until then, in seconds; null when nobody did';
comment on column reporting.mttr.mean_resolve_seconds is
    'Average time from the opening to the resolve, in seconds; those that are open do not count';
comment on column reporting.mttr.median_resolve_seconds is 'Median of the same, in seconds';
comment on column reporting.mttr.longest_resolve_seconds is 'Longest of the same, in seconds'
