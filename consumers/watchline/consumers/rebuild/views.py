"""The views that read the tables: copies of them over the fresh tables, and the same ones again after a swap."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter

import asyncpg

from watchline.consumers.rebuild.structure import use
from watchline.consumers.rebuild.tables import CHECKED, FOLDED, FRESH
from watchline.schemas.errors import WatchlineError

REPORTING = """
select v.oid, v.relname as name, pg_get_viewdef(v.oid) as definition
from pg_class v where v.relnamespace = 'reporting'::regnamespace and v.relkind = 'v' order by v.relname
"""
# Which view of the schema reads which other one.
BETWEEN = """
select distinct r.ev_class as reader, d.refobjid as read
from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
    and d.refclassid = 'pg_class'::regclass and d.refobjid <> r.ev_class
where r.ev_class = any($1::oid[]) and d.refobjid = any($1::oid[])
"""
# All views, of whatever schema, that read a table directly; one that reads another view follows by itself.
READERS = """
select format('%I.%I', n.nspname, v.relname) as name, pg_get_viewdef(v.oid) as definition,
    quote_ident(pg_get_userbyid(v.relowner)) as owner,
    case when v.reloptions is null then '' else ' with (' || array_to_string(v.reloptions, ', ') || ')' end as options
from pg_class v join pg_namespace n on n.oid = v.relnamespace
where v.relkind = 'v' and v.oid in (
    select r.ev_class from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
    where d.refclassid = 'pg_class'::regclass and d.refobjid in (
        select c.oid from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname = any($1)))
order by n.nspname <> 'reporting', v.relname
"""
# Nothing behind a copy may be an old table or a view over old tables.
ASTRAY = """
select distinct d.refobjid::regclass::text
from pg_class v join pg_rewrite r on r.ev_class = v.oid
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
join pg_class c on c.oid = d.refobjid
where v.relnamespace = $1::text::regnamespace and (c.relnamespace = 'reporting'::regnamespace
    or (c.relnamespace = 'public'::regnamespace and c.relname = any($2)))
"""


async def copy_views(connection: asyncpg.Connection) -> list[str]:
    """Copies of the views of `reporting` in the schema CHECKED, over the fresh tables; their names.

    Tables that a rebuild does not touch are read where they are.
    """
    await use(connection, "public")
    views = {row["oid"]: row for row in await connection.fetch(REPORTING)}
    order = TopologicalSorter[int](dict.fromkeys(views, ()))
    for row in await connection.fetch(BETWEEN, list(views)):
        order.add(row["reader"], row["read"])
    await connection.execute(f"create schema {CHECKED}")
    await use(connection, FRESH, "public")
    for oid in order.static_order():
        definition = re.sub(r"\breporting\.", f"{CHECKED}.", views[oid]["definition"])
        await connection.execute(f'create view {CHECKED}."{views[oid]["name"]}" as {definition}')
    if astray := [row[0] for row in await connection.fetch(ASTRAY, CHECKED, list(FOLDED))]:
        raise WatchlineError(f"a copy of the views reads {', '.join(astray)}", hint="this is a defect of Watchline")
    return sorted(row["name"] for row in views.values())


async def readers(connection: asyncpg.Connection) -> list[asyncpg.Record]:
    """The views that read one of the tables, with definitions that leave no schema out."""
    await connection.execute("set local search_path = ''")
    return list(await connection.fetch(READERS, list(FOLDED)))


async def point_at_public(connection: asyncpg.Connection, views: list[asyncpg.Record]) -> None:
    """Have the views read what is in `public` now; they keep their comments, owners and rights."""
    for view in views:
        await connection.execute(f"create or replace view {view['name']}{view['options']} as {view['definition']}")
