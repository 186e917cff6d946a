create view reporting.run_tree as
select t.run_id, t.relation, t.related_run_id, t.depth, r.pipeline as related_pipeline, r.status as related_status,
    r.started_at as related_started_at, r.ended_at as related_ended_at, r.duration_seconds as related_duration_seconds
from (
    select a.descendant as run_id, 'ancestor'::text as relation, a.ancestor as related_run_id, a.depth
    from public.run_ancestry a
    union all
    select s.run_id, 'self', s.run_id, 0 from public.runs s
    union all
    select d.ancestor, 'descendant', d.descendant, d.depth from public.run_ancestry d) t
left join public.runs r on r.run_id = t.related_run_id;

comment on view reporting.run_tree is 'One row per run and each run above and below it, itself included';
comment on column reporting.run_tree.run_id is 'The run whose family it is';
comment on column reporting.run_tree.relation is 'ancestor (started it, or started what did), self or descendant';
comment on column reporting.run_tree.related_run_id is 'The run of the family';
comment on column reporting.run_tree.depth is 'How many steps lie between the two: 0 for self, 1 for a parent or a child';
comment on column reporting.run_tree.related_pipeline is 'Pipeline of the related run; null when it was never heard of';
comment on column reporting.run_tree.related_status is 'Status of the related run';
comment on column reporting.run_tree.related_started_at is 'When the related run started, UTC';
comment on column reporting.run_tree.related_ended_at is 'When the related run ended, UTC';
comment on column reporting.run_tree.related_duration_seconds is 'How long the related run took, in seconds'
