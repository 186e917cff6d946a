"""What is old is found by indexes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import asyncpg

from aging.passes import NOW, RUNS, Passes
from aging.stories import fresh, incident_until
from sinking.records import advanced
from watchline.consumers.retention.choosing import chunks_of, cutoffs_of
from watchline.consumers.retention.plan import RULES, Plan
from watchline.consumers.retention.rules import Rule
from watchline.consumers.retention.session import begin, session

SCANNED = re.compile(r"Seq Scan on (\w+)")
FEW = {"alert_storms"}  # as many as there were storms


async def test_no_statement_scans_a_table(passes: Passes) -> None:
    """Where scans are switched off as far as may be, a plan shows those that no index can take the place of."""
    await passes.sinking.store(*fresh(NOW), advanced(), *incident_until(RUNS - (NOW - RUNS), "old"))

    async with session(passes.dsn) as connection:
        await begin(connection)
        for rule in RULES:
            plans = "\n".join([plan async for plan in plans_of(connection, rule, passes.plan())])

            assert set(SCANNED.findall(plans)) <= FEW, plans


async def plans_of(connection: asyncpg.Connection, rule: Rule, plan: Plan) -> AsyncIterator[str]:
    """How Postgres goes about each statement of a rule, line by line."""
    dates = cutoffs_of(rule, plan)
    said: list[tuple[str, list[Any]]] = []
    if rule.walk:
        said.append((rule.walk.step, [*rule.walk.start, rule.walk.size, *dates[: rule.walk.dated]]))
    chunk, *_ = [chunk async for chunk in chunks_of(connection, rule, plan)]
    said += [(rule.choice(real=limit is not None), [*chunk, *dates, limit]) for limit in (10, None)]
    for _, condition in rule.deleted:
        said.append((f"delete {condition}", [[]] * len(set(re.findall(r"\$\d", condition)))))
    for statement, values in said:
        for row in await connection.fetch(f"explain {statement}", *values):
            yield row[0]
