"""Rows that the log can't give back, for it begins after them: taken from the old tables, merged by the sink's rules.

The fresh row wins wherever there is one, for it has read everything since. What spans the beginning of the log (the
first declaration of a version, the hour in which the log begins) is put together of both.
"""

from __future__ import annotations

import asyncpg

from watchline.consumers.database import rows_of
from watchline.consumers.rebuild.structure import columns_of
from watchline.consumers.rebuild.tables import FOLDED, FRESH, Folded
from watchline.consumers.sink.ancestry import store_ancestry

# By rules of their own.
OTHERWISE = ("lineage_edges", "run_ancestry", "dead_letters")
# An open incident that another one of its fingerprint has replaced is no more; the unique index would say so.
REPLACED = f"""and not (o.status = 'open' and exists (
    select from {FRESH}.incidents f where f.status = 'open' and f.fingerprint = o.fingerprint))"""
DECLARED = f"select array_agg(pipeline) from {FRESH}.pipelines where revision > 0"  # noqa: S608 - constants
# A pipeline of which the log knows runs only ($1: the others) keeps its declaration, and with it its edges.
EDGES = f"""
insert into {FRESH}.lineage_edges ({{columns}}) select {{columns}} from public.lineage_edges o
where o.pipeline <> all(coalesce($1::text[], '{{{{}}}}'))
"""  # noqa: S608 - constants
VERSIONS = f"""
update {FRESH}.pipeline_versions f set first_declared_at = least(f.first_declared_at, o.first_declared_at),
    last_declared_at = greatest(f.last_declared_at, o.last_declared_at),
    first_revision = least(f.first_revision, o.first_revision),
    last_revision = greatest(f.last_revision, o.last_revision)
from public.pipeline_versions o where (f.pipeline, f.config_hash) = (o.pipeline, o.config_hash)
"""  # noqa: S608 - constants
DATASETS = f"""
update {FRESH}.datasets f set first_declared_at = least(f.first_declared_at, o.first_declared_at),
    last_declared_at = greatest(f.last_declared_at, o.last_declared_at)
from public.datasets o where f.dataset_id = o.dataset_id
"""  # noqa: S608 - constants
TYPES = f"""
update {FRESH}.pipeline_types f set freshness_seconds = o.freshness_seconds,
    timeliness_seconds = o.timeliness_seconds, mutes = o.mutes, declared_by = o.declared_by,
    declared_at = o.declared_at
from public.pipeline_types o where f.type = o.type and o.declared_at is not null
    and (f.declared_at is null or (o.declared_at, o.declared_by) > (f.declared_at, f.declared_by))
"""  # noqa: S608 - constants
# The log gives the hours behind its first one in full.
HOURS = f"""
update {FRESH}.ingestion_hours f set events = greatest(f.events, o.events)
from public.ingestion_hours o where f.hour = o.hour and f.hour = (select min(hour) from {FRESH}.ingestion_hours)
"""  # noqa: S608 - constants
UNKNOWN_EDGES = f"""
select r.run_id, r.parent_run_id from {FRESH}.runs r
where r.parent_run_id <> r.run_id and not exists (
    select from {FRESH}.run_ancestry a
    where a.descendant = r.run_id and a.ancestor = r.parent_run_id and a.depth = 1)
"""  # noqa: S608 - constants


async def keep_older(connection: asyncpg.Connection) -> dict[str, int]:
    """Take over what the log does not reach; how many rows of each table. FRESH must lead the search path."""
    columns = await columns_of(connection, FOLDED)
    declared = await connection.fetchval(DECLARED)
    changes = (undeclared(columns["pipelines"]), partial(columns["runs"]), VERSIONS, DATASETS, TYPES, HOURS)
    for statement in changes:
        await connection.execute(statement)
    kept = {}
    for name, table in FOLDED.items():
        if name not in OTHERWISE:
            more = REPLACED if name == "incidents" else ""
            kept[name] = rows_of(await connection.execute(absent(name, table, columns[name]) + more))
    kept["lineage_edges"] = rows_of(
        await connection.execute(EDGES.format(columns=", ".join(columns["lineage_edges"])), declared)
    )
    edges = await connection.fetch(UNKNOWN_EDGES)
    await store_ancestry(connection, {(row["run_id"], row["parent_run_id"]) for row in edges})
    return {name: count for name, count in kept.items() if count}


def undeclared(columns: list[str]) -> str:
    """The statement that takes over declarations of pipelines of which the log knows only that they exist."""
    return replaced("pipelines", "pipeline", columns) + " and f.revision = 0 and o.revision > 0"


def partial(columns: list[str]) -> str:
    """The statement that takes over runs of which the log knows only what came late.

    The old row has been merged from that and from all before; `backfill` is null in what the streams did not hold.
    """
    return replaced("runs", "run_id", columns) + (
        " and f.backfill is null and o.backfill is not null and f.revision = o.revision"
    )


def replaced(name: str, key: str, columns: list[str]) -> str:
    """The statement that takes over all columns of rows with the same key; more conditions may follow."""
    changed = ", ".join(f"{one} = o.{one}" for one in columns if one != key)
    return f"update {FRESH}.{name} f set {changed} from public.{name} o where f.{key} = o.{key}"  # noqa: S608 - constants, and names that Postgres quotes


def absent(name: str, table: Folded, columns: list[str]) -> str:
    """The statement that takes over the rows whose key the fresh table does not have."""
    names = ", ".join(columns)
    same = " and ".join(f"f.{one} = o.{one}" for one in table.key.split())
    return (
        f"insert into {FRESH}.{name} ({names}) select {names} from public.{name} o "  # noqa: S608 - constants, and names that Postgres quotes
        f"where not exists (select from {FRESH}.{name} f where {same})"
    )
