create or replace view reporting.sla as
select m.month, m.pipeline, p.type as pipeline_type, p.owner, m.met + m.late + m.missed as due, m.met, m.late,
    m.missed, m.excused, m.unknown, m.met::numeric / nullif(m.met + m.late + m.missed, 0) as met_share,
    m.missed::numeric / nullif(m.met + m.late + m.missed, 0) as missed_share, m.stale_seconds,
    case when m.watched_seconds > 0 then greatest(1 - m.stale_seconds / m.watched_seconds, 0) end as fresh_share
from (
    select h.month, h.pipeline, sum(h.met)::bigint as met, sum(h.late)::bigint as late,
        sum(h.missed)::bigint as missed, sum(h.excused)::bigint as excused, sum(h.unknown)::bigint as unknown,
        coalesce(max(h.stale_seconds), 0) as stale_seconds, max(h.watched_seconds) as watched_seconds
    from (
        select date_trunc('month', d.day::timestamp)::date as month, d.pipeline, sum(d.met) as met, sum(d.late) as late,
            sum(d.missed) as missed, sum(d.excused) as excused, sum(d.unseen) as unknown,
            null::numeric as stale_seconds, null::numeric as watched_seconds
        from public.current_days d where d.met + d.late + d.missed + d.excused + d.unseen > 0 group by 1, 2
        union all
        select f.month, f.pipeline, 0, 0, 0, 0, 0,
            (select coalesce(sum(extract(epoch from upper(s.part) - lower(s.part))), 0)
                from unnest(f.stale * tstzmultirange(tstzrange(f.begins, f.ends))) s (part)),
            case when f.limited then greatest(
                extract(epoch from least(f.ends, now()) - greatest(f.begins, f.since)), 0) end
        from (
            select w.pipeline, w.limited, w.stale, w.since, g.month::date as month,
                g.month at time zone 'UTC' as begins, (g.month + interval '1 month') at time zone 'UTC' as ends
            from (
                select d.pipeline, least(d.first_seen_at, lower(i.stale), (
                        select min(v.first_declared_at) from public.pipeline_versions v
                        where v.pipeline = d.pipeline)) as since,
                    coalesce(i.stale, '{{}}') as stale,
                    coalesce(d.freshness_seconds, t.freshness_seconds) is not null
                        or coalesce(d.declaration -> 'freshness', 'null') <> 'null' as limited
                from public.pipelines d
                left join public.pipeline_types t on t.type = d.type
                left join lateral (
                    select range_agg(tstzrange(o.failed_at, greatest(o.failed_at, coalesce(o.resolved_at, now()))))
                        as stale
                    from (
                        select n.resolved_at, coalesce((
                            select min(e.at) from public.incident_events e
                            where e.incident_id = n.incident_id and e.severity = 'fail'), n.opened_at) as failed_at
                        from public.incidents n
                        where n.pipeline = d.pipeline and n.kind = 'freshness' and n.severity = 'fail') o) i on true
                ) w
            cross join lateral generate_series(
                date_trunc('month', case when w.limited then w.since else lower(w.stale) end at time zone 'UTC'),
                now() at time zone 'UTC', interval '1 month') g (month)) f
        where f.limited or f.stale && tstzrange(f.begins, f.ends)) h
    group by h.month, h.pipeline) m
left join public.pipelines p using (pipeline)
