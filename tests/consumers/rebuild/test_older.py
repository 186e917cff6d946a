"""When the log no longer reaches back: refused, or the older rows are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from brokers.kinds import Broker
from brokers.topics import create_topics, delete_topics
from rebuilding.calls import call, checksums, contents
from rebuilding.stored import store
from rebuilding.story import decide, story
from sinking import records
from watchline.consumers.rebuild.reach import reach_of
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import Misconfigured
from watchline.schemas.records import EPOCH_SHIFT
from watchline.schemas.topics import Topics

LATER = 1 << EPOCH_SHIFT


@pytest.fixture
async def new_topics(broker: Broker) -> AsyncIterator[Topics]:
    fresh = Topics(prefix=f"t{uuid4().hex[:12]}")
    await create_topics(broker.bootstrap_servers, fresh.specs(), partitions=4)
    yield fresh
    await delete_topics(broker.bootstrap_servers, [spec.name for spec in fresh.specs()])


@pytest.fixture
async def after_a_loss(
    broker: Broker, topics: Topics, new_topics: Topics, database: str, connection: asyncpg.Connection
) -> SinkSettings:
    """Settings of a sink whose first log was lost; it goes on with a second one, of which runs hang on older ones."""
    await store(broker, topics, database, {0: story(0, 20), 1: story(40, 41, partition=1)})
    late = records.ended(
        "run 2", pipeline="orders_0", revision=LATER + 9999, backfill=None, started_at=None, flags=("late",),
        inserts=2, status="aborted",
    )  # fmt: skip
    again = {0: [*story(20, 32, log_epoch=1), late], 1: story(41, 44, partition=1, log_epoch=1)}
    settings = await store(broker, new_topics, database, again, log_epoch=1)
    await decide(connection)
    return settings


async def test_rows_of_a_lost_log_are_kept_on_demand_with_all_that_hangs_on_them(
    after_a_loss: SinkSettings, connection: asyncpg.Connection
) -> None:
    before, said = await contents(connection), await checksums(connection)

    with pytest.raises(Misconfigured, match="log epoch 0 are of a log that was lost") as refused:
        await call(after_a_loss)
    outcome = await call(after_a_loss, keep_older=True)

    assert "--keep-older" in str(refused.value.hint)
    assert outcome.different == []
    assert outcome.swapped
    assert outcome.kept["runs"] == 20  # of 21 one is known to both logs
    assert await checksums(connection) == said
    after = await contents(connection)
    assert {name for name in before if before[name] != after[name]} == set()


async def test_what_the_log_has_wins_over_what_is_kept(
    after_a_loss: SinkSettings, connection: asyncpg.Connection
) -> None:
    said = await checksums(connection)
    both = records.name_id("run 2")  # known to both logs: the second one has only its end
    await connection.execute(f"update runs set duration_seconds = 1 where revision > {LATER} and run_id <> $1", both)
    await connection.execute(f"update incidents set title = 'falsified' where revision > {LATER}")

    outcome = await call(after_a_loss, keep_older=True, accept_differences=True)

    assert {"runs", "run_attempts", "incidents", "daily"} <= set(outcome.different)
    assert await checksums(connection) == said


async def test_an_epoch_that_the_sink_has_left_behind_is_refused(after_a_loss: SinkSettings) -> None:
    with pytest.raises(Misconfigured, match="the sink has read log epoch 1, and WATCHLINE_LOG_EPOCH is 0"):
        await call(after_a_loss.model_copy(update={"log_epoch": 0}))


def test_a_log_whose_beginning_was_removed_says_how_much_of_it() -> None:
    stood = {("state", 0): 100, ("state", 1): 50, ("incidents", 0): 7}

    whole = reach_of(stood, dict.fromkeys(stood, 0), ())
    cut = reach_of(stood, {("state", 0): 90, ("state", 1): 60, ("incidents", 0): 0}, ())

    assert (whole.records, whole.gaps()) == (157, [])
    assert cut.records == 17
    assert cut.gaps() == ["140 older records of 2 partitions are no longer in the log"]
