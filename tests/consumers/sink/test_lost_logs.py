"""Incidents of a log that was lost: no worker knows them any more, so the sink ends them on command."""

from __future__ import annotations

from typing import Any

import pytest

from sinking.records import after, command, incident, name_id, resolved
from sinking.tables import Sinking
from watchline.schemas.records import CommandRecord, SinkRecord, revision_of

UNKNOWN = "no incident of this pipeline that is open has this id"


def ordered(*, epoch: int = 1, offset: int = 5, **changes: Any) -> CommandRecord:
    """What a worker of a later log answers when it is told to close the incident."""
    fields: dict[str, Any] = {"outcome": "ignored", "detail": UNKNOWN, "incident_id": name_id("incident"), "note": "x"}
    return command("incident.resolved", revision=revision_of(epoch, offset), **fields | changes)


async def states(sinking: Sinking) -> list[tuple[Any, ...]]:
    found = await sinking.connection.fetch(
        "select status, resolve_reason, resolved_at, note from reporting.incidents order by opened_at"
    )
    return [tuple(row) for row in found]


async def outcomes(sinking: Sinking) -> list[str]:
    found = await sinking.connection.fetch("select outcome from commands order by revision")
    return [row["outcome"] for row in found]


@pytest.mark.parametrize("together", [True, False])
async def test_a_command_ends_an_incident_of_a_lost_log_by_hand_and_that_is_told(
    sinking: Sinking, together: bool
) -> None:
    batches: list[list[SinkRecord]] = [[incident(), ordered()]] if together else [[incident()], [ordered()]]
    for batch in batches:
        await sinking.store(*batch)

    last = (await sinking.rows("incident_events"))[-1]
    (done,) = await sinking.rows("commands")
    told = await sinking.connection.fetch("select transition, state from alert_outbox order by transition_no")
    assert await states(sinking) == [("resolved", "manual", after(minutes=30), "x")]
    assert (last["transition"], last["transition_no"], last["resolve_reason"]) == ("resolved", 2, "manual")
    assert '"by": "ada@etl-1"' in last["record"]
    assert (done["outcome"], done["detail"]) == ("applied", "the log that knew it is lost, so the sink has closed it")
    assert [tuple(row) for row in told] == [("opened", "pending"), ("resolved", "pending")]


@pytest.mark.parametrize(
    "order",
    [
        ordered(epoch=0),
        ordered(outcome="applied", detail=""),
        ordered().model_copy(update={"command": "incident.acknowledged"}),
        ordered(incident_id=name_id("another")),
        ordered(pipeline="stock"),
    ],
    ids=["of its own log", "that was obeyed", "that closes nothing", "about another", "of another pipeline"],
)  # fmt: skip
async def test_a_command_does_not(sinking: Sinking, order: CommandRecord) -> None:
    await sinking.store(incident(), order)

    assert await states(sinking) == [("open", None, None, None)]
    assert await outcomes(sinking) == [order.outcome]


async def test_an_incident_that_has_ended_stays_as_it_ended(sinking: Sinking) -> None:
    await sinking.store(incident(), resolved(), ordered())

    assert await states(sinking) == [("resolved", "recovered", after(hours=1), None)]
    assert await outcomes(sinking) == ["ignored"]


async def test_an_incident_of_no_log_at_all_is_left_to_who_watches_it(sinking: Sinking) -> None:
    await sinking.store(incident(revision=0, kind="ingestion"), ordered())

    assert await states(sinking) == [("open", None, None, None)]


async def test_two_such_commands_close_it_once(sinking: Sinking) -> None:
    second = ordered(offset=6, note="y")

    await sinking.store(incident(), ordered(), second)
    await sinking.store(ordered(offset=7))

    assert [note for *_, note in await states(sinking)] == ["x"]
    assert await outcomes(sinking) == ["applied", "ignored", "ignored"]


async def test_an_incident_that_can_not_be_read_stays_open_and_stops_nothing(sinking: Sinking) -> None:
    await sinking.store(incident())
    await sinking.connection.execute("update incident_events set record = '{}'")

    refused = await sinking.store(ordered())

    assert refused == 0
    assert await states(sinking) == [("open", None, None, None)]
    assert await outcomes(sinking) == ["ignored"]


async def test_reading_it_again_changes_nothing(sinking: Sinking) -> None:
    await sinking.store(incident(), ordered())
    before = await sinking.everything()

    await sinking.store(ordered())
    await sinking.store(incident(), ordered())

    assert await sinking.everything() == before
