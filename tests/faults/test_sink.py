"""The sink dies at each of its failpoints, four times in one log: the rows are those of the oracle, each once."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiokafka.errors import GroupCoordinatorNotAvailableError

from brokers.kinds import Broker
from faults.invariants.progress import no_commit_ahead
from faults.invariants.violations import assert_none
from faults.invariants.watching import watching
from faults.judged import Judged
from faults.lives import QUICK, Offsets, die, died, fail, points
from stack.services import Services, services
from watchline.cli.lag import committed_offsets
from watchline.schemas import KafkaConnection

SLOWLY = ",P2:sleep:0.15"  # so that the log lasts longer than the second between two reports to Kafka
# The first, the second and a late pass; then the last one, when the last record of the log is in hand.
POINTS = {"P1": (1, 2, 20), "P2": (1, 2, 20), "P3": (1, 2, 20), "P4": (1, 2, 20), "P5": (1, 2, 3)}


@pytest.mark.durable("a killed sink keeps its partitions for a session, which the embedded broker wants long")
@pytest.mark.parametrize("point", points(POINTS, always="P3"))
async def test_a_sink_that_dies_at_its_first_second_a_late_and_its_last_pass_of(
    point: str, tmp_path: Path, broker: Broker, judged: Judged, database: str
) -> None:
    async with watching(database, judged.topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, judged.topics, QUICK) as running:
            before = await told_to_kafka(broker, judged)  # by the sinks of another test, of another database
            for number in POINTS[point]:
                await die(running, "sink", f"{point}:kill:{number}" + SLOWLY * (point == "P5"))
                check_commits(await told_to_kafka(broker, judged), before, await judged.offsets(database))
            await store_all(running, judged, database)
            await judged.add_run()
            await die(running, "sink", f"{point}:kill:1")
            await store_all(running, judged, database)

    await judged.check(database, moments)


@pytest.mark.durable("a killed sink keeps its partitions for a session, which the embedded broker wants long")
@pytest.mark.faults
async def test_a_sink_that_dies_while_the_group_takes_its_partitions_away(
    tmp_path: Path, broker: Broker, judged: Judged, database: str
) -> None:
    async with watching(database, judged.topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, judged.topics, QUICK) as running:
            await die(running, "sink", "P6:kill:1")
            for number in (2, 3):
                await die_of_a_companion(running, number)
            await store_all(running, judged, database)

    await judged.check(database, moments)


async def store_all(running: Services, judged: Judged, dsn: str) -> None:
    """A sink that nobody kills stores what there is, and stops."""
    sink = running.start("sink")
    await judged.stored(dsn)
    sink.stop()
    assert sink.exit_code == 0


@pytest.mark.durable("as above")
@pytest.mark.faults
async def test_a_sink_stops_at_an_error_that_nobody_foresaw_and_the_next_one_goes_on(
    tmp_path: Path, broker: Broker, judged: Judged, database: str
) -> None:
    with services(tmp_path, broker.bootstrap_servers, database, judged.topics, QUICK) as running:
        for number, point in enumerate(("P1", "P2", "P3", "P4"), start=1):
            await fail(running, "sink", f"{point}:raise:{number}")
        await fail(running, "sink", "P5:raise:1")
        running.start("sink")
        await judged.stored(database)

    await judged.check(database)


async def die_of_a_companion(running: Services, number: int) -> None:
    """Another sink joins, and leaves, until the first one has had enough."""
    failpoint = f"P6:kill:{number}{SLOWLY}"
    dying = running.start("sink", WATCHLINE_FAILPOINT=failpoint)
    companions = [running.start("sink", WATCHLINE_FAILPOINT="P2:sleep:0.15") for _ in range(number - 1)]
    await died(dying, failpoint)
    for companion in companions:
        companion.stop()


async def told_to_kafka(broker: Broker, judged: Judged) -> Offsets:
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    try:
        return await committed_offsets(kafka, judged.topics.sink_group, judged.ends)
    except GroupCoordinatorNotAvailableError:
        return {}  # no group has ever been on this broker


def check_commits(told: Offsets, before: Offsets, stored: Offsets) -> None:
    """Kafka is never told of more than Postgres holds."""
    news = {place: offset for place, offset in told.items() if offset != before.get(place)}
    assert_none(no_commit_ahead("the sink", news, stored))
