"""Which expected starts, watermarks, commands, hours and dead letters go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from aging.passes import DAY, HISTORY, NOW, RUNS, TICK, Passes
from aging.stories import opening
from sinking.records import advanced, command, letter, name_id, slot
from watchline.schemas.records import CommandRecord


async def test_an_expected_start_goes_when_it_is_decided_and_nothing_counts_it(passes: Passes) -> None:
    old = RUNS - DAY
    slots = {
        "gone": slot(state="met", due_at=RUNS - TICK),
        "border": slot(state="met", due_at=RUNS),
        "open": slot(due_at=old),
        "range": slot(state="unknown", due_at=old - DAY, until=RUNS),
        "range that is over": slot(state="unknown", due_at=old - 2 * DAY, until=RUNS - TICK),
        "missed": slot(state="missed", due_at=old, pipeline="other"),
        "missed and counted": slot(state="missed", due_at=old, pipeline="late"),
        "met before": slot(state="met", due_at=old - DAY, pipeline="late"),
    }
    await passes.sinking.store(*slots.values(), opening(old, "absent", pipeline="late", kind="missed_start"))

    await passes.prune()

    kept = set(await passes.rows("select pipeline, due_at from expected_runs"))
    assert {name for name, one in slots.items() if (one.pipeline, one.due_at) in kept} == {
        "border", "open", "range", "missed and counted",
    }  # fmt: skip


async def test_an_advance_goes_by_its_time_and_the_watermark_stays(passes: Passes) -> None:
    times = [HISTORY - 300 * DAY, HISTORY - TICK, HISTORY, NOW]
    advances = [
        advanced(f"{n}", revision=n, occurred_at=at, dataset=dataset)
        for n, (at, dataset) in enumerate(((at, dataset) for at in times for dataset in ("", "a", "b")), 1)
    ]
    stale = advanced("x", pipeline="stale", occurred_at=HISTORY - DAY)
    await passes.sinking.store(*advances, stale)
    before = await passes.rows("select * from watermarks order by pipeline, dataset")

    await passes.prune(batch=2)

    kept = await passes.rows("select occurred_at, count(*) from watermark_history group by 1 order by 1")
    assert kept == [(HISTORY, 3), (NOW, 3)]
    assert await passes.rows("select * from watermarks order by pipeline, dataset") == before


async def test_a_command_goes_when_it_no_longer_holds_and_what_it_is_about_is_over(passes: Passes) -> None:
    def given(number: int, name: str, **changes: Any) -> CommandRecord:
        return command(name, revision=number, **{"at": HISTORY - TICK} | changes)

    commands = {
        "gone": given(1, "incident.acknowledged", incident_id=name_id("over")),
        "border": given(2, "incident.acknowledged", at=HISTORY),
        "mute in force": given(3, "pipeline.muted", at=HISTORY - 200 * DAY, until=HISTORY),
        "mute that is over": given(4, "pipeline.muted", at=HISTORY - 200 * DAY, until=HISTORY - TICK),
        "of an open incident": given(5, "incident.acknowledged", incident_id=name_id("open")),
    }
    await passes.sinking.store(*commands.values(), opening(HISTORY - DAY, "open"))

    await passes.prune()

    kept = {event_id for (event_id,) in await passes.rows("select event_id from commands")}
    assert {name for name, one in commands.items() if one.event_id in kept} == {
        "border", "mute in force", "of an open incident",
    }  # fmt: skip


async def test_an_hour_of_ingestion_goes_by_its_time(passes: Passes) -> None:
    hours = [RUNS - timedelta(hours=1), RUNS, NOW - 90 * DAY]
    await passes.looking.execute("insert into ingestion_hours select unnest($1::timestamptz[]), 7", hours)

    await passes.prune()

    assert await passes.rows("select hour from ingestion_hours order by 1") == [(hour,) for hour in hours[1:]]


async def test_a_dead_letter_goes_after_it_was_decided_about_and_never_while_it_is_open(passes: Passes) -> None:
    old = HISTORY - 300 * DAY
    outcomes = [
        ("open", None, None, True),
        ("redriven", HISTORY - TICK, None, False),
        ("redriven", HISTORY, None, True),
        ("discarded", None, HISTORY - TICK, False),
        ("discarded", None, HISTORY, True),
        ("discarded", old, HISTORY, True),
        ("redriven", HISTORY, old, True),
    ]
    await passes.sinking.store(*(letter(n, failed_at=old) for n in range(len(outcomes))))
    for place, (status, redriven, discarded, _) in enumerate(outcomes):
        await passes.looking.execute(
            "update dead_letters set status = $2, redriven_at = $3, discarded_at = $4 where source_offset = $1",
            place, status, redriven, discarded,
        )  # fmt: skip

    await passes.prune()

    kept = {place for (place,) in await passes.rows("select source_offset from dead_letters")}
    assert kept == {place for place, (*_, stays) in enumerate(outcomes) if stays}
