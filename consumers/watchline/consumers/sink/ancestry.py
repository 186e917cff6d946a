"""Keeping `run_ancestry` the closure of `runs.parent_run_id`, whatever the order in which runs arrive."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from watchline.consumers import locks

DEEPEST = 100  # a chain of parents longer than this is a loop or a mistake

LOCKED = "select pg_advisory_xact_lock(case current_schema() when 'public' then $1::bigint else $2::bigint end)"
# Only edges that the closure doesn't know: the end of a run names its parent again.
UNKNOWN = """
select child from unnest($1::uuid[], $2::uuid[]) as edge (child, parent)
where not exists (
    select from run_ancestry a where a.descendant = child and a.ancestor = parent and a.depth = 1)
"""
TOUCHED = f"""
with recursive below (run_id, depth) as (
    select distinct child, 0 from unnest($1::uuid[]) as child
    union
    select r.run_id, b.depth + 1 from below b join runs r on r.parent_run_id = b.run_id where b.depth < {DEEPEST})
select distinct run_id from below
"""  # noqa: S608 - a constant
FORGOTTEN = "delete from run_ancestry where descendant = any($1::uuid[])"
REBUILT = f"""
with recursive above (descendant, ancestor, depth) as (
    select r.run_id, r.parent_run_id, 1 from runs r
    where r.run_id = any($1::uuid[]) and r.parent_run_id is not null
    union
    select a.descendant, r.parent_run_id, a.depth + 1 from above a join runs r on r.run_id = a.ancestor
    where r.parent_run_id is not null and a.depth < {DEEPEST})
insert into run_ancestry (descendant, ancestor, depth)
select descendant, ancestor, min(depth) from above where ancestor <> descendant
group by descendant, ancestor order by descendant, ancestor
"""  # noqa: S608 - a constant


async def store_ancestry(connection: asyncpg.Connection, edges: set[tuple[UUID, UUID]]) -> None:
    """Rebuild the ancestors of every run below a new edge.

    Call it last in the transaction: the lock, without which two sinks would not see each other's new edges, is held
    until commit, so nobody who holds it may wait for a row.
    """
    if not edges:
        return
    children, parents = zip(*sorted(edges), strict=True)
    new = [row["child"] for row in await connection.fetch(UNKNOWN, children, parents)]
    if not new:
        return
    await connection.execute(LOCKED, locks.ANCESTRY, locks.ANCESTRY_REBUILT)
    touched = [row["run_id"] for row in await connection.fetch(TOUCHED, new)]
    await connection.execute(FORGOTTEN, touched)
    await connection.execute(REBUILT, touched)
