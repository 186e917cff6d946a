"""Lineage for analysts: datasets, edges, what each dataset reaches, and how declarations changed.

What a dataset reaches is found when somebody asks, and nothing is kept for it: docs/adr/0012.
"""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

INDEX = "create index datasets_name on datasets (name)"

# A declaration without both sources and targets makes no edge, so readers and writers are those that it names.
DATASETS = """
create view reporting.datasets as
select d.name as dataset, d.type as dataset_type, d.dataset_group, coalesce(named.readers, '{}') as readers,
    coalesce(named.writers, '{}') as writers, d.first_declared_at, d.last_declared_at
from public.datasets d
left join (
    select each.name, each.type, each.dataset_group,
        array_agg(distinct p.pipeline order by p.pipeline) filter (where each.reads) as readers,
        array_agg(distinct p.pipeline order by p.pipeline) filter (where not each.reads) as writers
    from public.pipelines p
    cross join lateral (
        select true as reads, s.name, s.type, s."group" as dataset_group
        from jsonb_to_recordset(p.declaration -> 'sources') as s (name text, type text, "group" text)
        union all
        select false, t.name, t.type, t."group"
        from jsonb_to_recordset(p.declaration -> 'targets') as t (name text, type text, "group" text)) each
    group by each.name, each.type, each.dataset_group
) named on named.name = d.name and named.type = d.type and named.dataset_group = d.dataset_group
"""

LINEAGE = """
create view reporting.lineage as
select e.pipeline, p.type as pipeline_type, p.owner, s.name as source, s.type as source_type,
    s.dataset_group as source_group, t.name as target, t.type as target_type, t.dataset_group as target_group,
    e.declared_at
from public.lineage_edges e
join public.datasets s on s.dataset_id = e.source
join public.datasets t on t.dataset_id = e.target
left join public.pipelines p on p.pipeline = e.pipeline
"""

# One row a level: its datasets, each with the least of its shortest paths, and all that were seen so far. So each
# dataset is reached once, whatever the graph, and a filter on dataset and direction walks only that one. `offset 0`
# keeps the look-ups by index: without statistics the planner would read all edges at every level.
PATHS = """
select s.name as dataset, s.type as dataset_type, s.dataset_group, '{direction}' as direction,
    t.name as reached, t.type as reached_type, t.dataset_group as reached_group, level.depth, r.path
from public.datasets s
cross join lateral (
    with recursive walk (depth, frontier, seen) as (
        select 0, array[row(s.dataset_id, array[s.name])], array[s.dataset_id]
        union all
        select w.depth + 1, next.frontier, w.seen || next.ids
        from walk w
        cross join lateral (
            select array_agg(n.dataset_id) as ids, array_agg(row(n.dataset_id, n.path || (
                select d.name from public.datasets d where d.dataset_id = n.dataset_id))) as frontier
            from (
                select c.dataset_id, min(c.path) as path
                from (
                    select e.dataset_id, f.path
                    from unnest(w.frontier) as f (dataset_id uuid, path text[])
                    cross join lateral (
                        select l.{far} as dataset_id from public.lineage_edges l where l.{near} = f.dataset_id
                        offset 0) e
                    union all
                    select old, null from unnest(w.seen) as old) c
                group by c.dataset_id
                having bool_and(c.path is not null)) n) next
        where next.ids is not null)
    select depth, frontier from walk where depth > 0) level
cross join lateral unnest(level.frontier) as r (dataset_id uuid, path text[])
cross join lateral (
    select d.name, d.type, d.dataset_group from public.datasets d where d.dataset_id = r.dataset_id offset 0) t
"""
DIRECTIONS = (
    {"direction": "downstream", "near": "source", "far": "target"},
    {"direction": "upstream", "near": "target", "far": "source"},
)
LINEAGE_PATHS = "create view reporting.lineage_paths as\n" + "union all\n".join(
    PATHS.format(**direction) for direction in DIRECTIONS
)

VERSIONS = """
create view reporting.pipeline_versions as
select v.pipeline, row_number() over (partition by v.pipeline order by v.first_revision) as version, v.config_hash,
    v.first_declared_at, v.last_declared_at, v.declaration
from public.pipeline_versions v
"""

# A list as sorted text, a dataset as `name (type, group)`, another object in a list as `key=value`.
TEXT = """
case jsonb_typeof({value})
    when 'array' then (
        select string_agg(item.text, ', ' order by item.text)
        from jsonb_array_elements({value}) as element (value)
        cross join lateral (select case
            when element.value ?& array['name', 'type', 'group']
                then concat(element.value ->> 'name', ' (', element.value ->> 'type', ', ',
                    element.value ->> 'group', ')')
            when jsonb_typeof(element.value) = 'object' then (
                select string_agg(part.key || '=' || part.value, ' ' order by part.key)
                from jsonb_each_text(jsonb_strip_nulls(element.value)) part)
            else element.value #>> '{{}}' end as text) item)
    when 'number' then trim_scale(({value} #>> '{{}}')::numeric)::text
    when 'object' then null
    else {value} #>> '{{}}'
end"""

# Of a version are known its first and its last declaration: put in order, they tell when another one came, and that
# one which had been there before was back. Equal parts of two declarations are left out as a whole.
CHANGES = """
create view reporting.pipeline_changes as
with steps as (
    select v.pipeline, v.version, v.config_hash, known.declared_at, known.returned,
        lag(v.version) over earlier as version_before, lag(v.config_hash) over earlier as hash_before,
        lag(known.declared_at) over earlier as declared_before
    from (
        select *, row_number() over (partition by pipeline order by first_revision) as version
        from public.pipeline_versions) v
    cross join lateral (values
        (v.first_revision, v.first_declared_at, false),
        (v.last_revision, v.last_declared_at, true)) as known (revision, declared_at, returned)
    window earlier as (partition by v.pipeline order by known.revision, known.returned)
)
select s.pipeline, s.version, case when s.returned then s.declared_before else s.declared_at end as changed_at,
    array_to_string(changed.path, '.') as field, text.before, text.after, s.returned
from steps s
join public.pipeline_versions old on old.pipeline = s.pipeline and old.config_hash = s.hash_before
join public.pipeline_versions new on new.pipeline = s.pipeline and new.config_hash = s.config_hash
cross join lateral (
    with recursive parts (path, before, after) as (
        select '{{}}'::text[], old.declaration, new.declaration
        union all
        select p.path || part.key, part.before, part.after
        from parts p
        cross join lateral (
            select coalesce(b.key, a.key) as key, b.value as before, a.value as after
            from jsonb_each(case when jsonb_typeof(p.before) = 'object' then p.before end) b
            full join jsonb_each(case when jsonb_typeof(p.after) = 'object' then p.after end) a on a.key = b.key) part
        where part.before is distinct from part.after and not (p.path = '{{}}' and part.key in (
            'event_id', 'event_type', 'schema_version', 'occurred_at', 'producer', 'pipeline', 'config_hash')))
    select path, before, after from parts where path <> '{{}}') changed
cross join lateral (select {before} as before, {after} as after) text
where s.version <> s.version_before and text.before is distinct from text.after
"""
PIPELINE_CHANGES = CHANGES.format(before=TEXT.format(value="changed.before"), after=TEXT.format(value="changed.after"))

COMMENTS = {
    "datasets": "One row per dataset that a declaration ever named; without readers and writers when none does now",
    "datasets.dataset": "Name of the dataset; with type and group it is unique",
    "datasets.dataset_type": "What serves it: postgres, s3",
    "datasets.dataset_group": "Its class: database, warehouse",
    "datasets.readers": "The pipelines that have it among their sources now, by name",
    "datasets.writers": "The pipelines that have it among their targets now, by name",
    "datasets.first_declared_at": "When a declaration first named it, UTC",
    "datasets.last_declared_at": "When a declaration last named it, UTC",
    "lineage": "One row per edge in force: from each source to each target of the newest declaration of a pipeline",
    "lineage.pipeline": "The pipeline that moves the data; several may share an edge and have a row each",
    "lineage.pipeline_type": "Type of the pipeline as last declared",
    "lineage.owner": "Owner of the pipeline as last declared",
    "lineage.source": "Name of the dataset that is read",
    "lineage.source_type": "What serves the source",
    "lineage.source_group": "Class of the source",
    "lineage.target": "Name of the dataset that is written",
    "lineage.target_type": "What serves the target",
    "lineage.target_group": "Class of the target",
    "lineage.declared_at": "When the declaration that says so was made, UTC",
    "lineage_paths": (
        "One row per dataset and dataset that it reaches over the edges in force, in both directions; right in the "
        "moment of every change. Filter by dataset (and direction): all others are then not walked"
    ),
    "lineage_paths.dataset": "Name of the dataset from which the path starts",
    "lineage_paths.dataset_type": "What serves it",
    "lineage_paths.dataset_group": "Its class",
    "lineage_paths.direction": "downstream: what is made from it; upstream: what it is made from",
    "lineage_paths.reached": "Name of a dataset at the end of a path; never the one from which it starts",
    "lineage_paths.reached_type": "What serves that",
    "lineage_paths.reached_group": "Class of that",
    "lineage_paths.depth": "Steps of a shortest path; 1 for neighbours",
    "lineage_paths.path": "Names from dataset to reached along a shortest path; of several the first by name",
    "pipeline_versions": "One row per configuration that a pipeline ever declared; one that comes back is the same row",
    "pipeline_versions.pipeline": "Name of the pipeline",
    "pipeline_versions.version": "1 for the first, in the order in which they were first declared",
    "pipeline_versions.config_hash": "Hash of the configuration; that of the newest declaration is in force",
    "pipeline_versions.first_declared_at": "When it was first declared, UTC",
    "pipeline_versions.last_declared_at": "When it was last declared, UTC; others may have been between the two",
    "pipeline_versions.declaration": "Its first declaration, as JSON",
    "pipeline_changes": (
        "One row per field that differs between a version and the one declared before it. A return to an earlier "
        "version is listed too, the latest one of each version: of a version the first and the last declaration are "
        "known. The first version has no rows, nor has one that only puts a list into another order"
    ),
    "pipeline_changes.pipeline": "Name of the pipeline",
    "pipeline_changes.version": "The version that it became, as in pipeline_versions",
    "pipeline_changes.changed_at": (
        "When that version was first declared, UTC; for a return when the version before it was last declared, since "
        "the return came after that and when is not kept"
    ),
    "pipeline_changes.field": "The field as a dotted path: schedule.cron",
    "pipeline_changes.before": "Its value before; null when there was none. Lists are sorted and joined by a comma",
    "pipeline_changes.after": "Its value after, in the same form",
    "pipeline_changes.returned": "True when the pipeline went back to a version that it had had before",
}


def upgrade() -> None:
    connection = op.get_bind()
    for statement in (INDEX, DATASETS, LINEAGE, LINEAGE_PATHS, VERSIONS, PIPELINE_CHANGES):
        connection.exec_driver_sql(statement)
    for name, comment in COMMENTS.items():
        kind = "column" if "." in name else "view"
        connection.exec_driver_sql(f"comment on {kind} reporting.{name} is '{comment}'")
