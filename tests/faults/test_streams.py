"""A worker dies at each of its failpoints, four times in one log: nothing is lost and nothing counts twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokers.kinds import Broker
from faults.invariants.watching import watching
from faults.judged import undeclared_history
from faults.lives import QUICK, die, died, dies_or_lives, points
from faults.streamed import Streamed
from stack.services import Services, services
from watchline.schemas import Event, Topics

SLOWLY = ",F1:sleep:0.05"  # so that the log lasts longer than some commits and ticks
QUIET = {"WATCHLINE_PULSE_SECONDS": "60"}  # no pulses: what comes is what was sent
# The first, the second and a late pass; then the last one, when the last events of the log are in hand.
POINTS = {
    "F1": ("F1:kill:1", "F1:kill:2", "F1:kill:12"),
    "F2": ("F2:kill:1", "F2:kill:2", "F2:kill:12"),
    "F3": ("F3:kill:1", "F3:kill:2", "F3:kill:12"),
    "F4": ("F4:kill:1", "F4:kill:2", "F4:kill:12"),
    "F5": ("F5:kill:1" + SLOWLY, "F5:kill:2" + SLOWLY, "F5:kill:4" + SLOWLY),
    "F6": ("F6:kill:1" + SLOWLY, "F6:kill:2" + SLOWLY, "F6:kill:4" + SLOWLY),
    "F9": ("F9:kill:1" + SLOWLY, "F9:kill:2" + SLOWLY, "F9:kill:5" + SLOWLY),
    "D1": ("D1:kill:1", "D1:kill:2", "D1:kill:8"),
    "D2": ("D2:kill:1", "D2:kill:2", "D2:kill:8"),
    "D3": ("D3:kill:1", "D3:kill:2", "D3:kill:8"),
}
# Events that are left for the last death: an end and its watermark. No start: a run that starts is not silent for as
# long as three pulses may take, and the rare pulses of that life are not those that the plain fold reckons with.
LAST = 2


@pytest.mark.durable("a restarted worker recovers its tables from changelogs")
@pytest.mark.parametrize("point", points(POINTS, always="F3"))
async def test_a_worker_that_dies_at_its_first_second_a_late_and_its_last_pass_of(
    point: str, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    streamed, (story, last) = Streamed(broker, topics, database), split()
    await streamed.send(story)
    async with watching(database, topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
            running.launch("sink")
            for failpoint in POINTS[point]:
                await die(running, "streams", failpoint)
                await streamed.check_commits()
            await streamed.read_to_the_end(running, **QUIET)
            await streamed.send(last)
            await die(running, "streams", f"{point}:kill:1", **QUIET)
            await streamed.check_commits()
            await streamed.finish(running)

    await streamed.check(moments)


@pytest.mark.durable("a restarted worker recovers its tables from changelogs")
@pytest.mark.faults
async def test_a_worker_that_dies_at_every_step_of_its_recovery(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    streamed, (story, last) = Streamed(broker, topics, database), split()
    await streamed.send(story)
    async with watching(database, topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
            running.launch("sink")
            await die(running, "streams", "F3:kill:12")  # leaves something to recover
            steps = 1
            while await dies_or_lives(running, "streams", f"F7:kill:{steps}"):
                await streamed.check_commits()
                steps += 1
            await streamed.send(last)
            await streamed.finish(running)

    assert steps > 2
    await streamed.check(moments)


@pytest.mark.durable("a restarted worker recovers its tables from changelogs")
@pytest.mark.faults
async def test_a_worker_that_dies_while_the_group_takes_its_partitions_away(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    streamed = Streamed(broker, topics, database)
    await streamed.send(undeclared_history())
    async with watching(database, topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
            running.launch("sink")
            await die(running, "streams", "F8:kill:1")
            for number in (2, 3):
                await die_of_a_companion(running, number)
                await streamed.check_commits()
            await streamed.finish(running)

    await streamed.check(moments)


async def die_of_a_companion(running: Services, number: int) -> None:
    """Another worker joins, and leaves, until the first one has had enough."""
    failpoint = f"F8:kill:{number}{SLOWLY}"
    dying = running.start("streams", WATCHLINE_FAILPOINT=failpoint)
    companion = running.start("streams")  # the second pass of the other
    if number == 3:
        companion.stop()  # its third
    await died(dying, failpoint)
    companion.stop()


@pytest.mark.durable("the same checks as above need true offsets")
@pytest.mark.faults
async def test_a_worker_outlives_a_failure_at_each_step_of_a_batch(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    streamed = Streamed(broker, topics, database)
    await streamed.send(undeclared_history())
    steps = ("F9", "F1", "F2", "F3", "F4", "D1", "D2", "D3")
    async with watching(database, topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
            running.launch("sink")
            failures = ",".join(f"{step}:raise:{number}" for number, step in enumerate(steps, start=2))
            worker = await streamed.finish(running, WATCHLINE_FAILPOINT=failures)
            said = worker.log.read_text()

    assert [step for step in steps if f"{step}, pass" not in said] == []
    await streamed.check(moments)


def split() -> tuple[list[Event], list[Event]]:
    """The history, and its end, which is sent when the rest has been read."""
    story = undeclared_history()
    return story[:-LAST], story[-LAST:]
