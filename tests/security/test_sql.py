"""What events say reaches Postgres as a bound value, never as a piece of a statement."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from brokers.apache import REPOSITORY
from security.hostile import injections
from sinking import records
from sinking.tables import Sinking
from slack.incidents import enqueue, incident
from watchline.consumers.notifier.alert import Post
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.grouping import plan_messages
from watchline.consumers.notifier.outbox import Outbox
from watchline.consumers.notifier.route import PARKED, Attempt, Delivery
from watchline.consumers.notifier.routing import Rule
from watchline.consumers.notifier.settings import NotifierSettings
from watchline.consumers.notifier.triage import Triage

MARK = "canary'; drop table runs; --"
PRODUCT = ("schemas", "sdk", "streams", "consumers", "cli", "migrations", "scripts")
WAIVER = re.compile(r"noqa: [A-Z0-9, ]*S608(.*)")


def test_the_rule_against_sql_made_of_strings_is_on_for_the_product() -> None:
    ruff = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    waived = {
        pattern: codes
        for pattern, codes in ruff["per-file-ignores"].items()
        if pattern.split("/")[0] in PRODUCT and {"S", "S6", "S60", "S608"} & set(codes)
    }

    assert "S" in ruff["select"]
    assert not {"S", "S6", "S60", "S608"} & set(ruff["ignore"])
    assert waived == {}


def test_every_waiver_of_that_rule_says_that_it_is_about_constants() -> None:
    lines = [
        f"{path.relative_to(REPOSITORY)}: {line.strip()}"
        for folder in PRODUCT
        for path in (REPOSITORY / folder).rglob("*.py")
        for line in path.read_text().splitlines()
        if (found := WAIVER.search(line)) and "constant" not in found[1]
    ]

    assert lines == []


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that goes to Postgres over a connection made from now on."""
    statements: list[str] = []
    connect = asyncpg.connect

    async def connect_and_note(*arguments: Any, **named: Any) -> asyncpg.Connection:
        connection: asyncpg.Connection = await connect(*arguments, **named)
        connection.add_query_logger(lambda query: statements.append(query.query))
        return connection

    monkeypatch.setattr(asyncpg, "connect", connect_and_note)
    return statements


async def test_the_sink_binds_every_value(said: list[str], database: str) -> None:
    sinking = Sinking(database, await asyncpg.connect(database))
    await sinking.join()
    for text in (MARK, *injections().values()):
        name = text.strip()[:200].replace("\x00", "") or "x"
        await sinking.store(
            records.declared(name, owner=name, tags=(name,), type=name),
            records.started(name, pipeline=name, labels_started={name: name}, watermark=name),
            records.ended(name, pipeline=name, error={"type": name, "message": text}, reported_status=name),
            records.advanced(name, pipeline=name, kind="text"),
            records.incident(name, fingerprint=name, title=name, pipeline=name, owner=name),
            records.letter(len(said), reason=name, detail=text, source_topic=name),
        )  # fmt: skip
    stored = await sinking.connection.fetchval("select count(*) from runs where pipeline = $1", MARK)
    await sinking.writer.close()
    await sinking.connection.close()

    assert stored == 1
    assert [statement for statement in said if "canary" in statement] == []
    assert any(statement.lstrip().startswith("insert into pipelines") for statement in said)


async def test_the_notifier_binds_every_value(said: list[str], database: str) -> None:
    pool = await asyncpg.create_pool(database, min_size=1, max_size=1, connect=asyncpg.connect)
    timing = NotifierSettings(postgres_dsn="x", group_wait_seconds=0).timing
    minute = timedelta(seconds=60)
    box = Outbox(pool, MARK, minute, timing, minute, Triage((Rule(owner=MARK, channel=MARK),), "x", timing))
    connection = await asyncpg.connect(database)
    await enqueue(connection, incident(pipeline=MARK, owner=MARK, title=MARK))
    await connection.close()
    claim = await box.claim(MARK, 10, edits=True)
    assert claim.now is not None
    (message,) = plan_messages(claim.alerts, claim.last_sent, claim.now, timing).messages

    await box.prepare([MARK])
    await box.renew(message, MARK)
    await box.mark(message, Delivery((Attempt(MARK, PARKED),), 1.0))
    await box.mark(message, Delivery((Attempt(MARK, Outcome("accepted", post=Post(MARK, MARK, MARK))),), 0.0))
    await box.complete(replace(message, post=Post(MARK, MARK, MARK)))
    await box.suppress([1], MARK, MARK)
    await box.release(MARK)
    await pool.close()

    assert [statement for statement in said if "canary" in statement] == []
    assert any("claimed_by" in statement for statement in said)
