"""Making tables like those that exist: same columns, constraints, indexes and names, in another schema.

`create table like` gives indexes new names and forgets foreign keys and storage parameters, so these are made from
their own definitions. Postgres prints a name without its schema where the search path leads to it, so a definition that
is printed under one search path and run under another moves from one schema to the other.
"""

from __future__ import annotations

from collections.abc import Iterable

import asyncpg

from watchline.consumers.rebuild.tables import FRESH, MOVED, SCRATCH, SPARE, TRIGGERS, UNTOUCHED
from watchline.schemas.errors import Misconfigured

TABLES = """
select c.relname as name, c.relkind::text as kind, pg_get_userbyid(c.relowner) as owner,
    array_to_string(c.reloptions, ', ') as options, obj_description(c.oid, 'pg_class') as comment
from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname = any($1)
"""
# Constraints first that others lean on: keys, then what refers to them.
CONSTRAINTS = """
select t.relname as table, format('add constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) as definition
from pg_constraint k join pg_class t on t.oid = k.conrelid
where t.relnamespace = 'public'::regnamespace and t.relname = any($1) and k.contype in ('p', 'u', 'x', 'f')
order by k.contype = 'f', t.relname, k.conname
"""
INDEXES = """
select pg_get_indexdef(i.indexrelid, 0, true) as definition
from pg_index i join pg_class t on t.oid = i.indrelid
where t.relnamespace = 'public'::regnamespace and t.relname = any($1)
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
order by i.indexrelid
"""
TRIGGERS_ON = """
select pg_get_triggerdef(g.oid, true) as definition
from pg_trigger g join pg_class t on t.oid = g.tgrelid
where t.relnamespace = 'public'::regnamespace and t.relname = any($1) and not g.tgisinternal order by g.tgname
"""
GRANTS = """
select format('grant %s on %I.%I to %s%s', a.privilege_type, $2::text, t.relname,
    case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end,
    case when a.is_grantable then ' with grant option' else '' end) as statement
from pg_class t, aclexplode(t.relacl) a
where t.relnamespace = 'public'::regnamespace and t.relname = any($1) and a.grantee <> t.relowner
union all
select format('grant %s (%I) on %I.%I to %s%s', a.privilege_type, c.attname, $2::text, t.relname,
    case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end,
    case when a.is_grantable then ' with grant option' else '' end)
from pg_class t join pg_attribute c on c.attrelid = t.oid, aclexplode(c.attacl) a
where t.relnamespace = 'public'::regnamespace and t.relname = any($1) and a.grantee <> t.relowner
"""
# What would stay with the old tables, and what we know no definition for.
LEFT_BEHIND = """
with tables as (
    select c.oid, c.relname from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname = any($1))
select format('trigger %s on %s', g.tgname, t.relname)
from pg_trigger g join tables t on t.oid = g.tgrelid join pg_proc f on f.oid = g.tgfoid
where not g.tgisinternal and f.proname <> all($2)
union all select format('policy %s on %s', p.polname, t.relname) from pg_policy p join tables t on t.oid = p.polrelid
union all select format('publication of %s', t.relname) from pg_publication_rel p join tables t on t.oid = p.prrelid
union all select format('partition or child of %s', t.relname) from pg_inherits i
    join tables t on t.oid in (i.inhparent, i.inhrelid)
union all select format('foreign key %s of %s', k.conname, k.conrelid::regclass) from pg_constraint k
    join tables t on t.oid = k.confrelid where k.contype = 'f' and k.conrelid not in (select oid from tables)
union all select format('function %s on %s', d.objid::regproc, t.relname) from pg_depend d
    join tables t on d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid where d.classid = 'pg_proc'::regclass
union all select format('materialized view %s on %s', v.oid::regclass, t.relname) from pg_depend d
    join tables t on d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid
    join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid
    join pg_class v on v.oid = r.ev_class and v.relkind = 'm'
order by 1
"""


async def require_sound(connection: asyncpg.Connection) -> str:
    """The owner of the tables; Misconfigured when one is missing or a swap would leave something behind."""
    names = [*MOVED, *UNTOUCHED]
    found = {row["name"]: row for row in await connection.fetch(TABLES, names)}
    if missing := [name for name in names if name not in found]:
        raise Misconfigured(f"tables are missing: {', '.join(missing)}", hint="run `watchline migrate`")
    left = [row[0] for row in await connection.fetch(LEFT_BEHIND, list(MOVED), list(TRIGGERS))]
    if left:
        raise Misconfigured(
            f"the tables have what a rebuild can't carry over: {'; '.join(sorted(set(left)))}",
            hint="drop it, rebuild, and make it again",
        )
    owners = {found[name]["owner"] for name in MOVED}
    if len(owners) > 1:
        raise Misconfigured(
            f"the tables have several owners: {', '.join(sorted(owners))}",
            hint="give them all to the one who runs `watchline migrate`: alter table … owner to …",
        )
    return str(owners.pop())


async def create_fresh(connection: asyncpg.Connection) -> None:
    """Empty tables in the schema FRESH, and in SPARE those that the writer wants besides; what was there is dropped."""
    async with connection.transaction():
        await connection.execute(f"drop schema if exists {FRESH}, {SPARE} cascade")
        await connection.execute(f"create schema {FRESH}; create schema {SPARE}")
        for name in SCRATCH:
            await connection.execute(f"create unlogged table {SPARE}.{name} (like public.{name} including all)")
        await copy_tables(connection, list(MOVED))


async def copy_tables(connection: asyncpg.Connection, names: list[str]) -> None:
    """Empty tables in FRESH, with the keys, constraints and indexes of those in `public`."""
    await use(connection, "public")  # so that definitions leave the schema out
    tables = await connection.fetch(TABLES, names)
    statements = [
        *(f"alter table {row['table']} {row['definition']}" for row in await connection.fetch(CONSTRAINTS, names)),
        *(row["definition"] for row in await connection.fetch(INDEXES, names)),
        *(row["definition"] for row in await connection.fetch(TRIGGERS_ON, names)),
    ]
    for row in tables:
        await copy_table(connection, row)
    await use(connection, FRESH, "public")  # where the functions of the triggers are
    for statement in statements:
        await connection.execute(statement)


async def copy_table(connection: asyncpg.Connection, row: asyncpg.Record) -> None:
    """The table alone; its check constraints come along, its keys and indexes don't."""
    name = f"{FRESH}.{row['name']}"
    await connection.execute(f"create table {name} (like public.{row['name']} including all excluding indexes)")
    if row["options"]:
        await connection.execute(f"alter table {name} set ({row['options']})")
    if row["comment"]:
        comment = await connection.fetchval("select quote_literal($1::text)", row["comment"])
        await connection.execute(f"comment on table {name} is {comment}")


async def grant_as_before(connection: asyncpg.Connection) -> None:
    """Whoever may use a table of `public` may use the fresh one."""
    for row in await connection.fetch(GRANTS, list(MOVED), FRESH):
        await connection.execute(row["statement"])


async def use(connection: asyncpg.Connection, *schemas: str) -> None:
    """Look names up in these schemas until the transaction ends."""
    await connection.execute(f"set local search_path = {', '.join(schemas)}")


async def columns_of(connection: asyncpg.Connection, tables: Iterable[str]) -> dict[str, list[str]]:
    """The columns of the tables in `public` that are stored, quoted, without those that Postgres computes."""
    found = await connection.fetch(
        "select c.relname, quote_ident(a.attname) as column from pg_class c join pg_attribute a on a.attrelid = c.oid "
        "where c.relnamespace = 'public'::regnamespace and c.relname = any($1) and a.attnum > 0 "
        "and not a.attisdropped and a.attgenerated = '' order by a.attnum",
        list(tables),
    )
    columns: dict[str, list[str]] = {}
    for row in found:
        columns.setdefault(row["relname"], []).append(row["column"])
    return columns
