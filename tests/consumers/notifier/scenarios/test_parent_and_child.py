"""Nesting: a run fails, and the run that started it fails for that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import asyncpg
import pytest

from sinking.records import name_id, started
from sinking.tables import Sinking
from slack.fake import FakeSlack
from slack.incidents import after, changed, incident, resolved, store
from slack.workspace import FakeWorkspace
from watchline.schemas.records import IncidentRecord

Start = Callable[..., Awaitable[asyncio.Event]]
DATA = "C000DATA"
STATES = "select pipeline, state from alert_outbox where transition = 'opened' order by pipeline"


def failed(pipeline: str, run: str, **changes: Any) -> IncidentRecord:
    """The failure of a run of `pipeline`."""
    return incident(
        pipeline=pipeline, kind="failure", title="run failed", facts=(), run_id=name_id(run), owner=None, **changes
    )


@pytest.fixture
async def family(database: str, connection: asyncpg.Connection) -> AsyncIterator[None]:
    """`nightly` starts `load`, which starts `copy`; `other` runs by itself, and so does the second `nightly`."""
    sinking = Sinking(database, connection)
    await sinking.join()
    await sinking.store(
        started("night", pipeline="nightly"),
        started("load", pipeline="load", parent_run_id=name_id("night")),
        started("copy", pipeline="copy", parent_run_id=name_id("load")),
        started("other", pipeline="other"),
        started("night 2", pipeline="nightly"),
    )
    yield
    await sinking.writer.close()


async def until(connection: asyncpg.Connection, *wanted: tuple[str, str]) -> None:
    """Wait until the alerts stand so."""
    async with asyncio.timeout(20):
        while [tuple(row) for row in await connection.fetch(STATES)] != list(wanted):
            await asyncio.sleep(0.02)


@pytest.mark.usefixtures("family")
async def test_the_deepest_failure_is_told_and_names_those_above_it(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await store(connection, failed("nightly", "night"), failed("load", "load"), failed("copy", "copy"))

    await start()
    await until(connection, ("copy", "sent"), ("load", "inhibited"), ("nightly", "inhibited"))

    (request,) = slack.requests
    assert request.text.split("\n")[:2] == ["🔴 copy: run failed", "2 above failed with it: load, nightly"]


@pytest.mark.usefixtures("family")
async def test_what_is_told_first_is_named_when_the_ones_above_follow_and_one_message_is_all(
    connection: asyncpg.Connection,
    workspace: FakeWorkspace,
    bot: Mapping[str, Any],
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("watchline.consumers.notifier.triage.REFRESH_SECONDS", 0.1)
    child, parent = failed("load", "load"), failed("nightly", "night")
    await start(**bot)
    await store(connection, child)
    await until(connection, ("load", "sent"))

    await store(connection, parent)
    await workspace.until(lambda: "1 above failed with it: nightly" in workspace.posts(DATA)[0].text)
    await store(connection, resolved(parent, after(hours=1)), resolved(child, after(hours=1)))
    await workspace.until(lambda: workspace.posts(DATA)[0].text.startswith("✅"))

    assert len(workspace.posts(DATA)) == 1


@pytest.mark.usefixtures("family")
async def test_a_parent_that_is_still_failed_when_its_child_has_recovered_is_told_after_the_settle_time(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    child = failed("load", "load")
    await store(connection, child, failed("nightly", "night"))
    await start(inhibit_settle_seconds=0.5)
    await until(connection, ("load", "sent"), ("nightly", "inhibited"))

    await store(connection, resolved(child, after(hours=1)))
    await until(connection, ("load", "sent"), ("nightly", "sent"))

    assert slack.requests[-1].text.startswith("🔴 nightly: run failed")
    assert await connection.fetchval(
        "select sent_at > (select created_at from alert_outbox where transition = 'resolved') + interval '0.5 s' "
        "from alert_outbox where pipeline = 'nightly'"
    )


@pytest.mark.usefixtures("family")
async def test_a_later_run_of_the_parent_that_fails_for_itself_is_told(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    parent = failed("nightly", "night")
    await store(connection, failed("load", "load"), parent)
    await start(inhibit_settle_seconds=0)
    await until(connection, ("load", "sent"), ("nightly", "inhibited"))

    await store(connection, changed(parent, run_id=name_id("night 2")))
    await until(connection, ("load", "sent"), ("nightly", "sent"))

    assert [each.text.split(":")[0] for each in slack.requests] == ["🔴 load", "🔴 nightly"]


@pytest.mark.usefixtures("family")
async def test_a_failure_elsewhere_or_below_is_held_back_by_nothing(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await store(connection, failed("load", "load"), failed("other", "other"))

    await start()
    await until(connection, ("load", "sent"), ("other", "sent"))

    assert sum(each.text.count("run failed") for each in slack.requests) == 2


@pytest.mark.usefixtures("family")
async def test_a_child_that_nobody_is_told_of_explains_nothing(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await store(connection, failed("load", "load"))
    await connection.execute("update alert_outbox set state = 'suppressed', suppressed_reason = 'too_old'")
    await store(connection, failed("nightly", "night"))

    await start()
    await until(connection, ("load", "suppressed"), ("nightly", "sent"))

    assert slack.requests[0].text.startswith("🔴 nightly")
