"""The tables made anew from the log, on a real broker and a real database."""

from __future__ import annotations

import asyncio
import re

import asyncpg
import pytest

from brokers.dumps import dump_schema
from brokers.kinds import Broker
from rebuilding.calls import Heard, call, checksums, contents
from rebuilding.story import DAMAGE, story
from sinking.services import produce, running, until
from watchline.consumers.rebuild import drop_old
from watchline.consumers.rebuild.checksums import FOLLOW
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import Misconfigured

UNTOLD = """
select count(*) from incident_events e
where e.revision > 0 and e.transition = 'opened' and not exists (
    select from alert_outbox o where (o.incident_id, o.transition_no) = (e.incident_id, e.transition_no))
"""
OLD = "select tablename from pg_tables where schemaname = 'watchline_old'"


async def test_a_rebuild_of_sound_tables_changes_no_row_and_no_definition(
    stored: SinkSettings, database: str, connection: asyncpg.Connection
) -> None:
    await connection.execute("create view public.analysts_own as select pipeline, status from runs")
    await connection.execute("create view reporting.through as select status, count(*) from analysts_own group by 1")
    before, said, defined = await contents(connection), await checksums(connection), await definitions(database)
    heard = Heard()

    outcome = await call(stored, heard=heard)

    assert outcome.swapped
    assert outcome.different == []
    assert outcome.kept == {}
    assert heard.records == outcome.records > 0
    assert await contents(connection) == before
    assert await checksums(connection) == said
    old = await contents(connection, "watchline_old")
    assert old == {name: before[name] for name in old}
    assert await connection.fetchval("select count(*) from stale_days") == 0
    assert await connection.fetchval("select sum(runs) from pipeline_days") == len(before["runs"])
    assert await drop_old(connection)
    assert await definitions(database) == defined


async def definitions(dsn: str) -> str:
    """The schema as SQL; Postgres names some columns by their type as soon as it has read a view from its own print."""
    return re.sub(r"(::text(\[\])?) AS text\b", r"\1", await dump_schema(dsn))


async def test_damaged_tables_say_again_what_the_log_says(stored: SinkSettings, connection: asyncpg.Connection) -> None:
    said = await checksums(connection)
    outbox = await connection.fetch("select * from alert_outbox order by alert_id")
    await connection.execute(DAMAGE)
    spared = {name for name, one in (await checksums(connection)).items() if one == said[name]}

    refused = await call(stored)
    accepted = await call(stored, accept_differences=True)

    assert not refused.swapped
    assert accepted.swapped
    assert spared == {"alert_load", "delivery"}
    assert set(refused.different) == set(accepted.different) == set(said) - spared - set(FOLLOW)
    assert await checksums(connection) == said
    assert await connection.fetch("select * from alert_outbox order by alert_id") == outbox


async def test_a_refused_difference_leaves_every_row_as_it_was(
    stored: SinkSettings, connection: asyncpg.Connection
) -> None:
    await connection.execute("update runs set error_message = 'falsified' where inserts = 3")
    before = await contents(connection)

    outcome = await call(stored)

    assert not outcome.swapped
    assert outcome.different == ["run_attempts", "runs"]
    assert await contents(connection) == before
    assert await connection.fetchval("select count(*) from watchline_rebuild.runs") == len(before["runs"])
    assert await connection.fetch(OLD) == []


async def test_the_second_rebuild_takes_the_place_of_the_first(
    stored: SinkSettings, connection: asyncpg.Connection
) -> None:
    before = await contents(connection)
    await call(stored)
    await connection.execute("update watchline_old.runs set pipeline = 'the oldest'")

    outcome = await call(stored)

    assert outcome.swapped
    assert await contents(connection) == before
    assert await connection.fetchval("select count(*) from watchline_old.runs where pipeline = 'the oldest'") == 0


async def test_the_sink_goes_on_behind_what_was_rebuilt_and_alerts_once(
    broker: Broker, stored: SinkSettings, connection: asyncpg.Connection
) -> None:
    await call(stored)
    letters = await connection.fetchval("select max(dead_letter_id) from dead_letters")

    await produce(broker, stored.topics, story(44, 64))
    async with running(stored):
        await until(connection, "select count(*) from runs", 64)
        await until(connection, f"select count(*) from dead_letters where dead_letter_id > {letters}", 8)

    assert await connection.fetchval(UNTOLD) == 0


async def test_a_running_sink_loses_its_fences_and_stores_everything_all_the_same(
    broker: Broker, stored: SinkSettings, connection: asyncpg.Connection
) -> None:
    traffic = Traffic(broker, stored, first=44)

    async with running(stored):
        await until(connection, "select max(fence)::int from sink_offsets", 2)
        sending = asyncio.create_task(traffic.send())
        outcome = await call(stored)
        await until(connection, "select max(fence)::int from sink_offsets", 4)  # the swap's, and its own
        traffic.enough = True
        records = len(story(0, 40)) + len(story(40, 44, partition=1)) + len(story(44, await sending))
        await until(connection, "select sum(next_offset)::int from sink_offsets", records)

    assert outcome.different == []
    assert outcome.swapped
    again = await call(stored)
    assert again.different == []
    assert again.records == records
    assert await connection.fetchval(UNTOLD) == 0


class Traffic:
    """Jobs that go on until it is enough, a little ahead of the sink."""

    def __init__(self, broker: Broker, settings: SinkSettings, *, first: int) -> None:
        self.broker, self.settings, self.next = broker, settings, first
        self.enough = False

    async def send(self) -> int:
        """The number of the first run that is not sent any more."""
        connection = await asyncpg.connect(self.settings.postgres_dsn.get_secret_value())
        while not self.enough:
            await produce(self.broker, self.settings.topics, story(self.next, self.next + 4))
            self.next += 4
            await until(connection, f"select count(*) > {self.next - 20} from runs", expected=True)
        await connection.close()
        return self.next


async def test_a_swap_waits_for_readers_and_lets_them_finish(
    stored: SinkSettings, database: str, connection: asyncpg.Connection
) -> None:
    reader = await asyncpg.connect(database)
    reading = reader.transaction()
    await reading.start()
    await reader.fetch("select * from reporting.runs")
    heard = Heard()

    rebuilding = asyncio.create_task(call(stored, heard=heard))
    async with asyncio.timeout(60):
        while "swapping" not in heard.stages:
            await asyncio.sleep(0.02)
    await until(connection, "select count(*) > 0 from pg_locks where not granted", expected=True)
    assert await reader.fetchval("select count(*) from reporting.incidents") > 0  # nobody is in its way
    await reading.rollback()

    assert (await rebuilding).swapped
    await reader.close()


async def test_two_rebuilds_at_once_are_refused(stored: SinkSettings, connection: asyncpg.Connection) -> None:
    first = asyncio.create_task(call(stored))
    await until(connection, "select count(*)::int from pg_locks where locktype = 'advisory'", 1)

    with pytest.raises(Misconfigured, match="another rebuild is under way"):
        await call(stored)

    assert (await first).swapped
