"""What people decide about incidents and verdicts, as Postgres keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from sinking.records import after, anomaly, command, incident, name_id, resolved
from sinking.tables import Sinking
from watchline.schemas.records import IncidentRecord, SinkRecord

CARE: dict[str, Any] = {"acknowledged_at": after(minutes=30), "acknowledged_by": "ada@etl-1", "by": "ada@etl-1"}
SLEEP: dict[str, Any] = {"snoozed_until": after(hours=8), "by": "ada@etl-1"}


def acknowledged(*, revision: int = 3, **changes: Any) -> IncidentRecord:
    fields: dict[str, Any] = {"transition": "acknowledged", "transition_no": 2, "at": after(minutes=30), **CARE}
    return incident(revision=revision, **fields | changes)


def snoozed(*, revision: int = 3, **changes: Any) -> IncidentRecord:
    fields: dict[str, Any] = {"transition": "snoozed", "transition_no": 2, "at": after(minutes=30), **SLEEP}
    return incident(revision=revision, **fields | changes)


def woken(*, revision: int = 4, **changes: Any) -> IncidentRecord:
    fields: dict[str, Any] = {"transition": "woken", "transition_no": 3, "at": after(hours=8)}
    return incident(revision=revision, **fields | changes)


async def alerts(sinking: Sinking) -> list[tuple[Any, ...]]:
    found = await sinking.connection.fetch(
        "select transition, state, suppressed_reason from alert_outbox order by transition_no"
    )
    return [tuple(row) for row in found]


async def shown(sinking: Sinking) -> tuple[Any, ...]:
    row = await sinking.connection.fetchrow(
        "select status, acknowledged_by, snoozed_until, (select open_incidents from reporting.pipelines) "
        "from reporting.incidents"
    )
    assert row is not None
    return tuple(row)


@pytest.mark.parametrize("together", [True, False])
async def test_an_acknowledged_incident_is_shown_as_such_counts_as_open_and_sends_nothing(
    sinking: Sinking, together: bool
) -> None:
    for batch in [[incident(), acknowledged()]] if together else [[incident()], [acknowledged()]]:
        await sinking.store(*batch)

    assert await shown(sinking) == ("acknowledged", "ada@etl-1", None, 1)
    assert await alerts(sinking) == [("opened", "pending", None)]
    assert [row["transition"] for row in await sinking.rows("incident_events")] == ["opened", "acknowledged"]


async def test_an_acknowledged_incident_that_resolves_is_resolved_and_told(sinking: Sinking) -> None:
    await sinking.store(incident(), acknowledged(), resolved(revision=4, transition_no=3, **CARE | {"by": None}))

    assert await shown(sinking) == ("resolved", "ada@etl-1", None, 0)
    assert await alerts(sinking) == [("opened", "pending", None), ("resolved", "pending", None)]


async def test_an_escalation_of_an_acknowledged_incident_is_told_and_opens_it_again(sinking: Sinking) -> None:
    worse = incident(revision=4, transition="updated", transition_no=3, severity="fail", at=after(hours=1))
    await sinking.store(incident(), acknowledged(), worse)

    assert await shown(sinking) == ("open", None, None, 1)
    assert await alerts(sinking) == [("opened", "pending", None), ("updated", "pending", None)]


async def test_an_incident_that_is_snoozed_ends_without_a_word(sinking: Sinking) -> None:
    end = resolved(revision=4, transition_no=3, snoozed_until=after(hours=8))
    await sinking.store(incident(), snoozed(), end)

    assert await alerts(sinking) == [("opened", "pending", None), ("resolved", "suppressed", "snoozed")]


async def test_the_end_of_a_snooze_is_told_when_the_incident_is_still_open(sinking: Sinking) -> None:
    await sinking.store(incident(), snoozed(), woken(), now=after(hours=9))

    assert await alerts(sinking) == [("opened", "pending", None), ("woken", "pending", None)]
    assert await shown(sinking) == ("open", None, None, 1)


async def test_the_end_of_a_snooze_is_not_told_of_an_incident_that_nobody_heard_of(sinking: Sinking) -> None:
    await sinking.store(incident(), now=after(hours=25))
    await sinking.store(snoozed(snoozed_until=after(hours=26)), woken(at=after(hours=26)), now=after(hours=27))

    assert await alerts(sinking) == [("opened", "suppressed", "too_old"), ("woken", "suppressed", "opening_not_sent")]


async def test_commands_are_kept_with_what_became_of_them(sinking: Sinking) -> None:
    mute = command("pipeline.muted", revision=5, check="freshness", until=after(days=1), note="migration")
    late = command(revision=6, outcome="ignored", detail="no such incident", incident_id=name_id("gone"))
    await sinking.store(mute, late)

    found = await sinking.connection.fetch(
        "select command, given_by, note, outcome, detail, check_name, until from reporting.commands order by command"
    )
    assert [tuple(row) for row in found] == [
        ("incident.acknowledged", "ada@etl-1", None, "ignored", "no such incident", None, None),
        ("pipeline.muted", "ada@etl-1", "migration", "applied", "", "freshness", after(days=1)),
    ]


@pytest.mark.parametrize("together", [True, False])
async def test_a_command_that_stands_twice_in_the_log_keeps_its_first_outcome(sinking: Sinking, together: bool) -> None:
    first = command("feedback.given", revision=5)
    again = first.model_copy(update={"revision": 9, "outcome": "ignored", "detail": "it was answered before"})

    for batch in [[first, again]] if together else [[first], [again]]:
        await sinking.store(*batch)

    (kept,) = await sinking.rows("commands")
    (feedback,) = await sinking.rows("anomaly_feedback")
    assert (kept["outcome"], kept["revision"], feedback["learnt"]) == ("applied", 5, True)


async def feedback_of(sinking: Sinking) -> dict[str, tuple[Any, ...]]:
    found = await sinking.connection.fetch("select metric, feedback, feedback_by, feedback_at from reporting.anomalies")
    return {row["metric"]: tuple(row)[1:] for row in found}


async def test_feedback_stands_beside_the_anomalies_that_it_is_about(sinking: Sinking) -> None:
    answer = command("feedback.given", metrics=("inserts",))
    await sinking.store(anomaly("inserts"), anomaly("deletes"), answer)

    said = ("false_positive", "ada@etl-1", after(minutes=30))
    assert await feedback_of(sinking) == {"inserts": said, "deletes": (None, None, None)}


async def test_feedback_without_metrics_is_about_all_of_the_run(sinking: Sinking) -> None:
    await sinking.store(anomaly("inserts"), anomaly("deletes"), command("feedback.given", verdict="expected"))

    assert {said[0] for said in (await feedback_of(sinking)).values()} == {"expected"}


async def test_feedback_of_a_run_of_another_pipeline_stands_beside_nothing(sinking: Sinking) -> None:
    await sinking.store(anomaly("inserts"), command("feedback.given", pipeline="stock_daily"))

    assert await feedback_of(sinking) == {"inserts": (None, None, None)}


async def test_what_was_learnt_from_is_shown_and_not_what_somebody_said_later(sinking: Sinking) -> None:
    later = command("feedback.given", revision=7, verdict="new_normal", outcome="ignored", metrics=("inserts",))
    await sinking.store(anomaly("inserts"), command("feedback.given", revision=5), later)

    assert (await feedback_of(sinking))["inserts"][0] == "false_positive"


async def test_reading_the_log_again_changes_nothing(sinking: Sinking) -> None:
    story: list[SinkRecord] = [
        incident(),
        acknowledged(),
        anomaly("inserts"),
        command(),
        command("feedback.given", revision=8),
    ]
    await sinking.store(*story)
    before = await sinking.everything()

    await sinking.store(*story[:3])
    await sinking.store(*story)

    assert await sinking.everything() == before
