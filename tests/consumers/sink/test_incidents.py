"""Incidents, their transitions, and who is told about them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from sinking.records import after, incident, resolved
from sinking.tables import Sinking
from watchline.schemas.records import IncidentRecord


async def alerts(sinking: Sinking) -> list[tuple[str, str, str | None]]:
    rows = await sinking.connection.fetch(
        "select transition, state, suppressed_reason from alert_outbox order by alert_id"
    )
    return [tuple(row) for row in rows]


async def states(sinking: Sinking) -> list[tuple[Any, ...]]:
    rows = await sinking.connection.fetch("select status, resolve_reason, revision from incidents order by revision")
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("together", [True, False])
async def test_an_incident_opens_and_resolves_and_both_are_told(sinking: Sinking, together: bool) -> None:
    for batch in [[incident(), resolved()]] if together else [[incident()], [resolved()]]:
        await sinking.store(*batch)

    assert await states(sinking) == [("resolved", "recovered", 3)]
    assert len(await sinking.rows("incident_events")) == 2
    assert await alerts(sinking) == [("opened", "pending", None), ("resolved", "pending", None)]
    row, _ = await sinking.connection.fetch("select * from alert_outbox order by alert_id")
    assert IncidentRecord.model_validate_json(row["payload"]) == incident()
    assert (row["fingerprint"], row["kind"], row["cause_at"]) == ("orders_daily/anomaly", "anomaly", after())


@pytest.mark.parametrize("together", [True, False])
async def test_an_incident_that_one_event_opens_and_resolves_ends_resolved(sinking: Sinking, together: bool) -> None:
    both = [incident(revision=3), resolved(revision=3)]

    for batch in [both] if together else [[one] for one in both]:
        await sinking.store(*batch)

    assert await states(sinking) == [("resolved", "recovered", 3)]
    assert len(await sinking.rows("incident_events")) == 2


async def test_a_replay_tells_nobody_again(sinking: Sinking) -> None:
    await sinking.store(incident(), resolved())
    before = await sinking.everything()

    await sinking.store(incident())
    await sinking.store(incident(), resolved())

    assert await sinking.everything() == before


@pytest.mark.parametrize("together", [True, False])
async def test_only_an_escalation_is_worth_an_update(sinking: Sinking, together: bool) -> None:
    history = [
        incident(),
        incident(revision=3, transition="updated", transition_no=2),
        incident(revision=4, transition="updated", transition_no=3, severity="fail"),
        incident(revision=5, transition="updated", transition_no=4, severity="fail"),
    ]
    for batch in [history] if together else [[one] for one in history]:
        await sinking.store(*batch)

    assert await alerts(sinking) == [("opened", "pending", None), ("updated", "pending", None)]
    assert await states(sinking) == [("open", None, 5)]


@pytest.mark.parametrize("together", [True, False])
async def test_a_cause_older_than_a_day_is_recorded_and_neither_it_nor_its_end_is_told(
    sinking: Sinking, together: bool
) -> None:
    now = after(hours=25)
    for batch in [[incident(), resolved()]] if together else [[incident()], [resolved()]]:
        await sinking.store(*batch, now=now)

    assert await alerts(sinking) == [
        ("opened", "suppressed", "too_old"),
        ("resolved", "suppressed", "opening_not_sent"),
    ]
    assert await states(sinking) == [("resolved", "recovered", 3)]


async def test_the_end_of_an_old_incident_that_was_told_is_told(sinking: Sinking) -> None:
    await sinking.store(incident())
    await sinking.store(resolved(at=after(days=9)), now=after(days=9))

    assert await alerts(sinking) == [("opened", "pending", None), ("resolved", "pending", None)]


async def test_an_escalation_of_an_old_incident_is_told_and_so_is_its_end(sinking: Sinking) -> None:
    now: datetime = after(days=3)
    escalation = incident(revision=3, transition="updated", transition_no=2, severity="fail", at=now)
    await sinking.store(incident(), now=now)
    await sinking.store(escalation, resolved(revision=4, transition_no=3, at=now), now=now)

    assert [state for _, state, _ in await alerts(sinking)] == ["suppressed", "pending", "pending"]


@pytest.mark.parametrize("together", [True, False])
async def test_an_incident_that_opens_over_an_open_one_supersedes_it(sinking: Sinking, together: bool) -> None:
    three = [
        incident("a", revision=1),
        incident("b", revision=2, opened_at=after(hours=2)),
        incident("c", revision=3, opened_at=after(hours=3)),
        incident("elsewhere", revision=4, fingerprint="other"),
    ]
    for batch in [three] if together else [[one] for one in three]:
        await sinking.store(*batch)

    open_now = await sinking.connection.fetch("select fingerprint from incidents where status = 'open'")
    assert sorted(row["fingerprint"] for row in open_now) == ["orders_daily/anomaly", "other"]
    rows = await sinking.rows("incidents")
    ended_at = sorted(row["resolved_at"] for row in rows if row["resolve_reason"] == "superseded")
    assert ended_at == [after(hours=2), after(hours=3)]
    closing = await sinking.connection.fetch("select record from incident_events where resolve_reason = 'superseded'")
    assert [json.loads(row["record"])["transition_no"] for row in closing] == [2, 2]
    assert [state for _, state, _ in await alerts(sinking)] == ["pending"] * 4


async def test_replaying_a_superseded_incident_does_not_bring_it_back(sinking: Sinking) -> None:
    old, new = incident("a", revision=1), incident("b", revision=2)
    await sinking.store(old, new)
    before = await sinking.everything()

    await sinking.store(old)
    await sinking.store(old, new)

    assert await sinking.everything() == before


async def test_incidents_of_one_fingerprint_may_follow_each_other_within_a_batch(sinking: Sinking) -> None:
    await sinking.store(
        incident("a", revision=1),
        resolved("a", revision=2),
        incident("b", revision=3),
        resolved("b", revision=4),
        incident("c", revision=5),
    )

    assert await states(sinking) == [("resolved", "recovered", 2), ("resolved", "recovered", 4), ("open", None, 5)]
    assert len(await alerts(sinking)) == 5
