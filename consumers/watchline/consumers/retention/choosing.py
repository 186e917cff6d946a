"""Asking Postgres for the rows that a rule is about, in steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg

from watchline.consumers.database import rows_of
from watchline.consumers.retention.plan import Plan
from watchline.consumers.retention.rules import Rule

Columns = Sequence[Sequence[Any]]


async def chunks_of(connection: asyncpg.Connection, rule: Rule, plan: Plan) -> AsyncIterator[Columns]:
    """The columns of each step of the rule's walk; once nothing, when it has none."""
    if rule.walk is None:
        yield ()
        return
    cursor = rule.walk.start
    dates = cutoffs_of(rule, plan)[:1] if rule.walk.dated else []
    while found := await connection.fetch(rule.walk.step, *cursor, rule.walk.size, *dates):
        yield columns_of(found)
        cursor = tuple(found[-1])[: len(cursor)]


async def choose(
    connection: asyncpg.Connection, rule: Rule, plan: Plan, chunk: Columns, *, limit: int | None
) -> Columns:
    """The keys of the next batch, by column and locked, at most `limit`; of all rows, to be counted, without one."""
    statement = rule.choice(real=limit is not None)
    return columns_of(await connection.fetch(statement, *chunk, *cutoffs_of(rule, plan), limit))


async def delete(
    connection: asyncpg.Connection, rule: Rule, plan: Plan, chunk: Columns, *, limit: int
) -> tuple[int, Counter[str]]:
    """Delete one batch in a transaction: how many keys it had, and how many rows went, by table."""
    deleted: Counter[str] = Counter()
    async with connection.transaction():
        keys = await choose(connection, rule, plan, chunk, limit=limit)
        for table, condition in rule.deleted if keys else ():
            deleted[table] += rows_of(await connection.execute(f"delete {condition}", *keys))
    return len(keys[0]) if keys else 0, deleted


async def count(connection: asyncpg.Connection, plan: Plan) -> Counter[str]:
    """How many rows, by table, the plan would delete now; changes nothing."""
    counted: Counter[str] = Counter()
    for rule in (rule for table in plan.tables for rule in plan.rules(table)):
        counted.update(dict.fromkeys((table for table, _ in rule.deleted), 0))
        async for chunk in chunks_of(connection, rule, plan):
            keys = await choose(connection, rule, plan, chunk, limit=None)
            for table, condition in rule.deleted if keys else ():
                counted[table] += await connection.fetchval(f"select count(*) {condition}", *keys)
    return counted


def cutoffs_of(rule: Rule, plan: Plan) -> list[Any]:
    """The cutoffs of the tables that the rule names, in its order."""
    return [plan.cutoffs[name] for name in rule.cutoffs]


def columns_of(found: Sequence[asyncpg.Record]) -> Columns:
    """Rows as columns, as `unnest` takes them."""
    return list(zip(*found, strict=True))
