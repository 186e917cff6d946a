"""The views that read the tables: copies of them over the fresh tables, and the same ones again after a swap."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter

import asyncpg

from watchline.consumers.rebuild.structure import use
from watchline.consumers.rebuild.tables import CHECKED, FRESH, MOVED, UNTOUCHED
from watchline.schemas.errors import Misconfigured

# The views of `reporting` and those that they read, and which of them reads which.
VIEWS = """
with recursive found (oid) as (
    select v.oid from pg_class v where v.relnamespace = 'reporting'::regnamespace and v.relkind = 'v'
    union
    select v.oid from found f join pg_rewrite r on r.ev_class = f.oid
        join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
            and d.refclassid = 'pg_class'::regclass
        join pg_class v on v.oid = d.refobjid and v.relkind = 'v')
select v.oid, n.nspname as schema, v.relname as name, quote_ident(v.relname) as quoted,
    pg_get_viewdef(v.oid) as definition,
    array(select distinct d.refobjid from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass
        and d.objid = r.oid and d.refclassid = 'pg_class'::regclass and d.refobjid in (select oid from found)
        where r.ev_class = v.oid and d.refobjid <> v.oid) as reads
from found join pg_class v using (oid) join pg_namespace n on n.oid = v.relnamespace order by v.relname
"""
# A copy of what others read in `public` stands among the fresh tables, where they find it by the same name.
COPIED_TO = {"reporting": CHECKED, "public": FRESH}
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
# What is behind a copy and neither a copy, nor a fresh table, nor one ($3) that a rebuild leaves where it is.
ASTRAY = """
select distinct c.oid::regclass::text
from pg_class v join pg_rewrite r on r.ev_class = v.oid
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
join pg_class c on c.oid = d.refobjid join pg_namespace n on n.oid = c.relnamespace
where v.relkind = 'v' and v.relnamespace in ($1::text::regnamespace, $2::text::regnamespace)
    and n.nspname not in ($1, $2, 'pg_catalog') and not (n.nspname = 'public' and c.relname = any($3))
order by 1
"""


async def copy_views(connection: asyncpg.Connection) -> list[str]:
    """Copies of the views of `reporting` in the schema CHECKED, over the fresh tables; their names.

    Tables that a rebuild does not touch are read where they are. Raises Misconfigured for a view that reads others.
    """
    await use(connection, "public")
    views = {row["oid"]: row for row in await connection.fetch(VIEWS)}
    reporting = sorted(row["name"] for row in views.values() if row["schema"] == "reporting")
    qualified = re.compile(rf"\breporting\.({'|'.join(reporting)})\b")  # and no function of the schema
    await connection.execute(f"create schema {CHECKED}")
    await use(connection, FRESH, "public")
    for oid in TopologicalSorter({oid: row["reads"] for oid, row in views.items()}).static_order():
        schema, name = COPIED_TO.get(views[oid]["schema"]), views[oid]["quoted"]
        if schema is not None:
            definition = qualified.sub(f"{CHECKED}.\\1", views[oid]["definition"])
            await connection.execute(f"create view {schema}.{name} as {definition}")
    if astray := [row[0] for row in await connection.fetch(ASTRAY, CHECKED, FRESH, list(UNTOUCHED))]:
        raise Misconfigured(
            f"views of `reporting` read what a rebuild does not know: {', '.join(astray)}",
            hint="have them read tables and views of Watchline's only",
        )
    return reporting


async def readers(connection: asyncpg.Connection) -> list[asyncpg.Record]:
    """The views that read one of the tables, with definitions that leave no schema out."""
    await connection.execute("set local search_path = ''")
    return list(await connection.fetch(READERS, list(MOVED)))


async def point_at_public(connection: asyncpg.Connection, views: list[asyncpg.Record]) -> None:
    """Have the views read what is in `public` now; they keep their comments, owners and rights."""
    for view in views:
        await connection.execute(f"create or replace view {view['name']}{view['options']} as {view['definition']}")
