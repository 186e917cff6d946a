"""Which incidents go, with their changes, alerts, messages and storms."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import pytest

from aging.passes import DAY, HISTORY, HOUR, NOW, RUNS, TICK, Passes
from aging.stories import incident_until, opening
from sinking.records import name_id
from watchline.schemas.records import IncidentRecord

OLD = HISTORY - 10 * DAY
SENT = """
update alert_outbox set state = $2, created_at = $3, sent_at = case when $2 = 'sent' then $3::timestamptz end,
    next_attempt_at = 'infinity', message_id = $4, storm_id = $5
where incident_id = any($1::uuid[]) returning alert_id
"""
DELIVERED = "insert into alert_deliveries (alert_id, channel, outcome) select unnest($1::bigint[]), '#ops', 'accepted'"
POST = """
insert into alert_messages (channel, channel_id, ts, posted_at)
values ('#ops', 'C1', extract(epoch from $1::timestamptz)::text, $1) returning message_id
"""
STORM = "insert into alert_storms (destination, began_at, ended_at) values ('#ops', $1, $2) returning storm_id"


async def tell(
    passes: Passes, *told: IncidentRecord, at: datetime | None = None, state: str = "sent",
    message: int | None = None, storm: int | None = None,
) -> None:  # fmt: skip
    """Store the transitions, and have them told at a time: that of the last one unless `at` is given."""
    at = at or told[-1].at
    await passes.sinking.store(*told, now=told[-1].at)
    ids = [one.incident_id for one in told]
    alerts = [row["alert_id"] for row in await passes.looking.fetch(SENT, ids, state, at, message, storm)]
    await passes.looking.execute(DELIVERED, alerts)


async def left(passes: Passes, table: str) -> set[UUID]:
    return {incident_id for (incident_id,) in await passes.rows(f"select incident_id from {table}")}


async def post(passes: Passes, at: datetime) -> int:
    posted: int = await passes.looking.fetchval(POST, at)
    return posted


async def test_history_goes_by_the_end_of_its_incident_and_the_incident_later(passes: Passes) -> None:
    ends = {"gone": RUNS - TICK, "bare": RUNS, "old": HISTORY - TICK, "young": HISTORY}
    for name, end in ends.items():
        await tell(passes, *incident_until(end, name))
    await tell(passes, opening(RUNS - 500 * DAY, "open"))

    outcome = await passes.prune()

    assert await left(passes, "incidents") == {name_id(name) for name in ("bare", "old", "young", "open")}
    for table in ("incident_events", "alert_outbox"):
        assert await left(passes, table) == {name_id("young"), name_id("open")}, table
    assert outcome.deleted["incident_events"] == 6
    assert outcome.deleted["alert_deliveries"] == outcome.deleted["alert_outbox"] == 6
    assert await passes.value("select count(*) from alert_deliveries") == 3


@pytest.mark.parametrize("state", ["pending", "held", "inhibited"])
async def test_as_long_as_an_alert_waits_all_of_its_incident_stays(state: str, passes: Passes) -> None:
    await tell(passes, *incident_until(RUNS - DAY, "waiting"), state=state)
    await tell(passes, *incident_until(RUNS - DAY, "cause"))
    await passes.looking.execute(
        "update alert_outbox set inhibited_by = $1 where incident_id = $2 and transition_no = 1",
        name_id("cause"), name_id("waiting"),
    )  # fmt: skip
    kept = {name_id("waiting")} | ({name_id("cause")} if state == "inhibited" else set())

    await passes.prune()

    for table in ("incidents", "incident_events", "alert_outbox"):
        assert await left(passes, table) == kept, table


async def test_an_alert_that_was_told_late_or_is_in_hand_stays_and_its_incident_with_it(passes: Passes) -> None:
    await tell(passes, *incident_until(RUNS - DAY, "late"), at=HISTORY)
    await tell(passes, *incident_until(RUNS - DAY, "in time"), at=HISTORY - TICK)
    await tell(passes, *incident_until(RUNS - DAY, "in hand"))
    lease = "update alert_outbox set lease_until = now() + interval '1 hour' where incident_id = $1"
    await passes.looking.execute(lease, name_id("in hand"))
    counted = await passes.count()

    outcome = await passes.prune()

    assert await left(passes, "alert_outbox") == {name_id("late"), name_id("in hand")}
    assert await left(passes, "incidents") == {name_id("late"), name_id("in hand")}
    assert await left(passes, "incident_events") == {name_id("in hand")}
    assert outcome.deleted == counted


async def test_a_post_goes_when_nothing_that_stays_is_told_in_it_but_the_last_of_a_channel_stays(
    passes: Passes,
) -> None:
    shared, lonely, border, last = [await post(passes, HISTORY + at * HOUR) for at in (-3, -2, 0, 1)]
    await tell(passes, *incident_until(OLD, "old"), message=shared)
    await tell(passes, *incident_until(OLD, "older"), message=lonely)
    await tell(passes, *incident_until(NOW, "young"), message=shared)
    counted = await passes.count()

    outcome = await passes.prune()

    kept = {row[0] for row in await passes.rows("select message_id from alert_messages")}
    assert kept == {shared, border, last}
    assert outcome.deleted == counted

    await passes.looking.execute("update alert_messages set posted_at = $1", OLD)
    await passes.prune()

    assert await passes.value("select count(*) from alert_messages") == 2
    assert await passes.value("select max(message_id) from alert_messages") == last


async def test_a_storm_goes_when_it_is_over_and_nothing_that_stays_is_told_in_it(passes: Passes) -> None:
    over, border, used = [
        await passes.looking.fetchval(STORM, end - HOUR, end) for end in (HISTORY - TICK, HISTORY, OLD)
    ]
    lasting = await passes.looking.fetchval(STORM, OLD, None)
    await tell(passes, *incident_until(OLD, "old"), storm=over)
    await tell(passes, *incident_until(NOW, "young"), storm=used)

    await passes.prune()

    assert {row[0] for row in await passes.rows("select storm_id from alert_storms")} == {border, used, lasting}


async def test_what_the_log_tells_again_of_an_incident_that_is_gone_calls_nobody(passes: Passes) -> None:
    story = incident_until(OLD, "again")
    await tell(passes, *story)
    await passes.prune()
    assert await left(passes, "alert_outbox") == set()

    await passes.sinking.store(*story, now=NOW)

    states = await passes.rows("select transition, state, suppressed_reason from alert_outbox order by 1")
    assert states == [("opened", "suppressed", "too_old"), ("resolved", "suppressed", "opening_not_sent")]


async def test_incidents_alone_are_pruned_with_what_belongs_to_them(passes: Passes) -> None:
    await tell(passes, *incident_until(RUNS - DAY, "gone"))

    outcome = await passes.prune(["incidents"])

    assert outcome.deleted.total() == 1 + 2 + 2 + 2
    assert await left(passes, "incident_events") == set()


async def test_how_long_data_was_stale_is_said_the_same_before_and_after(passes: Passes) -> None:
    opened = opening(RUNS + DAY, "grown", kind="freshness")
    failed = opened.model_copy(
        update={
            "revision": opened.revision + 1000, "transition": "updated", "transition_no": 2, "severity": "fail",
            "at": opened.at + 10 * HOUR,
        }
    )  # fmt: skip
    end = failed.at + HOUR
    over = {"transition": "resolved", "transition_no": 3, "at": end, "resolved_at": end, "resolve_reason": "recovered"}
    await tell(passes, opened, failed, failed.model_copy(update=over | {"revision": failed.revision + 1}))
    await tell(passes, *incident_until(RUNS + DAY, "a warning", kind="freshness"))
    stale = "select sum(stale_seconds) from reporting.sla"
    assert await passes.value(stale) == HOUR.total_seconds()

    await passes.prune()

    assert await passes.value(stale) == HOUR.total_seconds()
    assert await left(passes, "incident_events") == {name_id("grown")}


async def test_the_changes_of_stale_data_go_with_their_incident(passes: Passes) -> None:
    await tell(passes, *incident_until(RUNS - DAY, "stale", kind="freshness", severity="fail"))
    counted = await passes.count()

    outcome = await passes.prune()

    assert await left(passes, "incident_events") == await left(passes, "incidents") == set()
    assert outcome.deleted == counted
