"""Real runs through real Kafka, streams and sink; then the tables are damaged and made anew from the log."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from brokers.kinds import Broker
from rebuilding.calls import call, checksums
from rebuilding.story import DAMAGE
from sinking.services import settings_for
from stack.replay import Replay, history
from stack.services import services
from watchline.schemas.topics import Topics

RUNS = 400
READ = "select sum(next_offset)::int from sink_offsets"


@pytest.mark.faults
async def test_what_the_services_have_stored_comes_back_from_the_log_alone(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    connection = await asyncpg.connect(database)
    story = history(RUNS)
    with services(tmp_path, broker.bootstrap_servers, database, topics) as running:
        worker, sink = running.start("streams"), running.start("sink")
        replay = Replay(broker.bootstrap_servers, topics, database, story)
        await replay.declare()
        await replay.run()
        await replay.stored(RUNS)
        worker.stop(seconds=15)  # no more pulses
        await at_rest(connection)
        sink.stop(seconds=15)
    said = await checksums(connection)
    outbox = await connection.fetch("select * from alert_outbox order by alert_id")
    settings = settings_for(broker, topics, database, batch_size=1000)

    sound = await call(settings)
    await connection.execute(DAMAGE)
    mended = await call(settings, accept_differences=True)

    assert sound.different == []
    assert "runs" in mended.different
    assert mended.swapped
    assert await checksums(connection) == said
    assert await connection.fetch("select * from alert_outbox order by alert_id") == outbox
    await connection.close()


async def at_rest(connection: asyncpg.Connection) -> None:
    """Wait until the sink has read nothing for a second."""
    before, since = None, 0
    async with asyncio.timeout(60):
        while since < 10:
            now = await connection.fetchval(READ)
            before, since = now, since + 1 if now == before else 0
            await asyncio.sleep(0.1)
