"""Scenario 19: an upstream table is late, and sixty pipelines downstream of it are late for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import asyncpg
import pytest

from sinking.records import declared
from sinking.services import until
from slack.fake import FakeSlack
from slack.incidents import after, incident, reach, resolved, store
from slack.workspace import FakeWorkspace
from watchline.consumers.notifier.grouping import Timing
from watchline.consumers.notifier.triage import Triage
from watchline.consumers.sink.pipelines import store_declarations
from watchline.schemas.declaration import Dataset
from watchline.schemas.records import IncidentRecord

Start = Callable[..., Awaitable[asyncio.Event]]
DATA = "C000DATA"
CHILDREN = 60
INHIBITED = "select count(*) from alert_outbox where state = 'inhibited'"
PENDING = "select count(*) from alert_outbox where state = 'pending'"


def late(pipeline: str, **changes: Any) -> IncidentRecord:
    """A pipeline whose data is stale."""
    return incident(pipeline=pipeline, kind="freshness", title="data is stale", facts=(), **changes)


@pytest.fixture
async def family(connection: asyncpg.Connection) -> list[str]:
    """`raw.orders` loads from nowhere; each child reads what the one before it writes."""
    names = ["raw.orders", *(f"child {number:02d}" for number in range(CHILDREN))]
    records = [
        declared(
            name,
            sources=(Dataset(name=names[place - 1]),) if place else (),
            targets=(Dataset(name=name),),
        )
        for place, name in enumerate(names)
    ]
    await store_declarations(connection, records)
    return names[1:]


async def test_sixty_late_descendants_are_one_message_and_a_failure_is_its_own(
    connection: asyncpg.Connection,
    workspace: FakeWorkspace,
    bot: Mapping[str, Any],
    start: Start,
    family: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("watchline.consumers.notifier.triage.REFRESH_SECONDS", 0.2)
    cause, children = late("raw.orders"), [late(name) for name in family]
    await store(connection, cause)
    await start(**bot, inhibit_settle_seconds=1)
    await until(connection, PENDING, 0)

    for child in children:
        await store(connection, child)
    await store(connection, incident(pipeline=family[7], kind="failure", title="run failed"))
    await until(connection, PENDING, 0)
    await workspace.until(lambda: f"{CHILDREN} downstream late" in workspace.posts(DATA)[0].text)
    root, failure = workspace.posts(DATA)
    while_late = root.text
    recovered = (resolved(child, after(hours=2)) for child in children[1:])
    await store(connection, resolved(cause, after(hours=1)), *recovered)
    await workspace.until(lambda: len(workspace.posts(DATA)) == 3)

    assert while_late.startswith("🔴 raw.orders: data is stale")
    assert "60 downstream late for it: child 00, child 01" in while_late
    assert "and 50 more" in while_late
    assert failure.text.startswith("🔴 child 07: run failed")
    assert root.text.startswith("✅ raw.orders")
    assert workspace.posts(DATA)[2].text.startswith("🔴 child 00: data is stale")
    assert await connection.fetchval("select count(*) from alert_storms") == 0


async def test_over_a_webhook_it_is_one_message_when_they_come_within_the_wait(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start, family: list[str]
) -> None:
    await store(connection, *(late(name) for name in reversed(family)), late("raw.orders"))

    await start(group_wait_seconds=1)
    await slack.wait_for(1)
    await until(connection, PENDING, 0)

    assert [each.text.split("\n")[:2] for each in slack.requests] == [
        [
            "🔴 raw.orders: data is stale",
            f"60 downstream late for it: {', '.join(f'child {number:02d}' for number in range(10))} and 50 more",
        ]
    ]


async def test_what_was_held_back_stands_in_the_outbox_with_its_cause_and_its_incident_is_open(
    connection: asyncpg.Connection, start: Start, family: list[str]
) -> None:
    cause = late("raw.orders")
    await store(connection, cause, late(family[30]))

    await start()
    await until(connection, INHIBITED, 1)

    rows = await connection.fetch(
        "select o.pipeline, o.inhibited_by, i.status from alert_outbox o join incidents i using (incident_id) "
        "where o.state = 'inhibited'"
    )
    assert [tuple(row) for row in rows] == [(family[30], cause.incident_id, "open")]


async def test_a_descendant_that_recovers_while_it_is_held_back_is_never_told(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start, family: list[str]
) -> None:
    cause, child = late("raw.orders"), late(family[0])
    await store(connection, cause, child)
    await start(inhibit_settle_seconds=0)
    await until(connection, INHIBITED, 1)

    await store(connection, resolved(child, after(hours=1)))
    await until(connection, PENDING, 0)
    await store(connection, resolved(cause, after(hours=2)))
    await until(connection, PENDING, 0)

    assert all("raw.orders" in each.text.split("\n")[0] for each in slack.requests)
    assert await connection.fetchval("select suppressed_reason from alert_outbox where state = 'suppressed'")


async def test_a_descendant_that_was_told_first_stays_told_and_is_not_repeated_while_its_cause_lasts(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start, family: list[str]
) -> None:
    await start()
    await store(connection, late(family[0]))
    await slack.wait_for(1)
    child = await connection.fetchval("select max(alert_id) from alert_outbox")
    await reach(connection, child, "state = 'sent'")
    await store(connection, late("raw.orders"))
    await slack.wait_for(2)
    await reach(connection, child + 1, "state = 'sent'")

    long_ago = "sent_at = sent_at - interval '5 hours', next_attempt_at = now()"
    await connection.execute(f"update alert_outbox set {long_ago}")
    await slack.wait_for(3)
    row = await reach(connection, child, "next_attempt_at > now() and inhibited_by is not null")

    assert row["state"] == "sent"
    assert [each.text.split("\n")[0] for each in slack.requests] == [
        f"🔴 {family[0]}: data is stale",
        "🔴 raw.orders: data is stale",
        "🔴 raw.orders: data is stale (still open)",
    ]


async def test_pipelines_in_a_circle_keep_each_other_quiet_and_one_is_told(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    circle = [
        declared("a", sources=(Dataset(name="y"),), targets=(Dataset(name="x"),)),
        declared("b", sources=(Dataset(name="x"),), targets=(Dataset(name="y"),)),
    ]
    await store_declarations(connection, circle)
    await store(connection, late("b", opened_at=after(minutes=1)), late("a"))

    await start()
    alert_id = await connection.fetchval("select alert_id from alert_outbox where pipeline = 'a'")
    await reach(connection, alert_id, "state = 'sent'")
    await until(connection, INHIBITED, 1)

    assert [each.text.split(":")[0] for each in slack.requests] == ["🔴 a"]


async def test_a_cause_that_nobody_is_told_of_holds_nothing_back(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start, family: list[str]
) -> None:
    await store(connection, late("raw.orders"))
    await connection.execute("update alert_outbox set state = 'suppressed', suppressed_reason = 'too_old'")
    await store(connection, late(family[0]))

    await start()
    await slack.wait_for(1)

    assert family[0] in slack.requests[0].text


async def test_a_declaration_that_was_begun_earlier_and_stored_later_counts(
    connection: asyncpg.Connection, database: str
) -> None:
    triage = Triage((), "slack", Timing())
    orders = Dataset(name="orders")
    await store_declarations(connection, [declared("above", targets=(orders,)), declared("below")])
    async with asyncpg.create_pool(database, min_size=1) as pool, pool.acquire() as notifier:
        await store(connection, late("above"))
        await triage.decide(notifier, "slack", edits=False)  # it has seen the lineage now
        await store_declarations(connection, [declared("below", sources=(orders,), revision=2)])
        await connection.execute("update pipelines set updated_at = updated_at - interval '1 hour' where revision = 2")
        await store(connection, late("below"))

        await triage.decide(notifier, "slack", edits=False)

    assert await connection.fetchval(INHIBITED) == 1
