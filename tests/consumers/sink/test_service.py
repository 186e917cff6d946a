"""The sink on a real broker and a real database."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest

from brokers.kinds import Address, Broker
from sinking.records import ended, incident, letter, started
from sinking.services import produce, running, settings_for, until
from sinking.tables import waiting_for_locks
from watchline.consumers.sink import run
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.records import RunRecord
from watchline.schemas.topics import Topics

RUNS = "select count(*) from runs"
MARKS = "select count(*) from stale_days"


def runs(number: int, *, first: int = 0) -> list[RunRecord]:
    return [started(f"run {n}", revision=n + 1) for n in range(first, first + number)]


async def test_what_the_streams_write_is_stored_and_read_once(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    settings = settings_for(broker, topics, database)
    now = datetime.now(UTC)
    await produce(broker, topics, [*runs(120), b"\xff nonsense", incident(at=now, cause_at=now), letter()])
    await produce(broker, topics, runs(5, first=120), partition=1)

    async with running(settings):
        await until(connection, RUNS, 125)
        await until(connection, "select count(*) from dead_letters", 2)
        await until(connection, "select count(*) from alert_outbox where state = 'pending'", 1)
        await produce(broker, topics, [ended("run 3", revision=900)])
        await until(connection, "select count(*) from runs where status = 'succeeded'", 1)

    offsets = await connection.fetch("select topic, partition, next_offset from sink_offsets where next_offset > 0")
    assert {tuple(row) for row in offsets} == {
        (topics.state, 0, 122),
        (topics.state, 1, 5),
        (topics.incidents, 0, 1),
        (topics.dead_letters, 0, 1),
    }


async def test_what_was_stored_is_folded_into_days_also_by_a_sink_that_starts_again(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    settings = settings_for(broker, topics, database)
    await produce(broker, topics, runs(120))
    async with running(settings):
        await until(connection, "select sum(runs) from pipeline_days", 120)
        await until(connection, MARKS, 0)
    await connection.execute("insert into stale_days select day, pipeline from pipeline_days")

    async with running(settings):
        await until(connection, MARKS, 0)

    assert await connection.fetchval("select sum(runs) from pipeline_weeks") == 120


async def test_a_sink_that_starts_again_reads_on_where_postgres_stands(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    settings = settings_for(broker, topics, database)
    await produce(broker, topics, runs(10))
    async with running(settings):
        await until(connection, RUNS, 10)
    # Had it gone by the group's offsets, or from the beginning, it would not read these again, or all of them.
    await connection.execute("delete from runs")
    await connection.execute("update sink_offsets set next_offset = 7 where topic = $1 and partition = 0", topics.state)

    await produce(broker, topics, runs(2, first=10))
    async with running(settings):
        await until(connection, RUNS, 5)

    assert await connection.fetchval("select min(revision) from runs") == 8


async def test_backends_killed_in_the_middle_lose_and_double_nothing(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    settings = settings_for(broker, topics, database, batch_size=20)
    now = datetime.now(UTC)
    opened = [
        incident(str(n), fingerprint=str(n), revision=n + 1, at=now, opened_at=now, cause_at=now) for n in range(100)
    ]
    kill = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'watchline-sink'"

    async with running(settings):
        for part in range(5):
            await produce(broker, topics, [*runs(80, first=80 * part), *opened[20 * part : 20 * part + 20]])
            await until(connection, f"select count(*) > {80 * part} from runs", True)
            await connection.execute(kill + " and datname = current_database()")
        await until(connection, RUNS, 400)
        await until(connection, "select count(*) from alert_outbox", 100)

    assert await connection.fetchval("select count(*) from incident_events") == 100
    assert await connection.fetchval("select count(*) from dead_letters") == 0
    assert await connection.fetchval("select sum(next_offset) from sink_offsets") == 500


async def test_a_locked_table_is_waited_for(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    """The lock outlasts the command's time-out: the same batch is tried again, and no record is blamed."""
    settings = settings_for(broker, topics, database, command_timeout_seconds=0.5)
    locker = await asyncpg.connect(database)
    lock = locker.transaction()
    await lock.start()
    await locker.execute("lock table runs in access exclusive mode")

    async with running(settings):
        await produce(broker, topics, runs(10))
        seen: set[int] = set()
        async with asyncio.timeout(30):
            while len(seen) < 2:  # two tries, each by a backend of its own
                await waiting_for_locks(connection, 1)
                seen.add(await connection.fetchval("select pid from pg_locks where not granted limit 1"))
        await lock.rollback()
        await until(connection, RUNS, 10)
    await locker.close()

    assert await connection.fetchval("select count(*) from dead_letters") == 0


@pytest.mark.parametrize(
    ("damage", "sqlstate"),
    [
        ("alter table runs rename column status to state", "42703"),
        ("drop table run_ancestry, runs cascade", "42P01"),
    ],
)
async def test_a_wrong_schema_stops_the_sink_and_moves_no_offset(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection, damage: str, sqlstate: str
) -> None:
    await connection.execute(damage)
    await produce(broker, topics, runs(3))

    with pytest.raises(Misconfigured, match=sqlstate) as stopped:
        async with asyncio.timeout(60):
            await run(settings_for(broker, topics, database), asyncio.Event())

    assert "watchline migrate" in (stopped.value.hint or "")
    assert await connection.fetchval("select count(*) from dead_letters") == 0
    assert await connection.fetchval("select count(next_offset) from sink_offsets") == 0


async def test_a_user_without_rights_stops_the_sink(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    role = f"{topics.prefix}_poor"
    await connection.execute(f"create role {role} login")
    settings = settings_for(broker, topics, database)
    await connection.execute(f"grant select, insert, update on sink_offsets to {role}")
    await connection.execute(f"alter database {await connection.fetchval('select current_database()')} set role {role}")
    await produce(broker, topics, runs(3))

    with pytest.raises(Misconfigured, match="42501"):
        async with asyncio.timeout(60):
            await run(settings, asyncio.Event())

    await connection.execute(f"drop owned by {role}")
    await connection.execute(f"alter database {await connection.fetchval('select current_database()')} reset role")
    await connection.execute(f"drop role {role}")


async def test_a_second_sink_shares_the_work_and_nothing_is_lost_or_doubled(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    settings = settings_for(broker, topics, database, batch_size=10)
    async with running(settings):
        await produce(broker, topics, runs(50))
        await until(connection, RUNS, 50)
        async with running(settings):
            for partition in range(4):
                await produce(broker, topics, runs(50, first=50 + 50 * partition), partition=partition)
            await until(connection, "select count(distinct owner) from sink_offsets", 2)
            await until(connection, RUNS, 250)
        await produce(broker, topics, runs(10, first=250), partition=3)
        await until(connection, RUNS, 260)

    assert await connection.fetchval("select sum(next_offset) from sink_offsets") == 260


async def test_a_sink_that_was_fenced_joins_anew_and_goes_on(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    settings = settings_for(broker, topics, database)
    async with running(settings):
        await produce(broker, topics, runs(5))
        await until(connection, RUNS, 5)
        await connection.execute("update sink_offsets set fence = fence + 10, owner = 'somebody else'")
        await produce(broker, topics, runs(5, first=5))
        await until(connection, RUNS, 10)

    assert await connection.fetchval("select count(*) from sink_offsets where owner = 'somebody else'") == 0


async def test_without_kafka_the_sink_fails_at_once_and_names_the_address(topics: Topics, database: str) -> None:
    nowhere = Address("127.0.0.1:1", durable=False)

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        await run(settings_for(nowhere, topics, database), asyncio.Event())


async def test_told_to_stop_while_postgres_is_away_the_sink_stops(broker: Broker, topics: Topics) -> None:
    settings = settings_for(broker, topics, "postgresql://nobody@127.0.0.1:1/none")
    stop = asyncio.Event()
    task = asyncio.create_task(run(settings, stop))
    await asyncio.sleep(0)

    stop.set()

    await asyncio.wait_for(task, 30)


def test_the_password_is_not_in_the_settings_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dsn").write_text("postgresql://u:canary@h/d\n")
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN_FILE", str(tmp_path / "dsn"))
    monkeypatch.setenv("WATCHLINE_LOG_EPOCH", "3")

    settings = SinkSettings.from_environment()

    assert "canary" not in repr(settings)
    assert settings.postgres_dsn.get_secret_value() == "postgresql://u:canary@h/d"
    assert settings.log_epoch == 3


def test_a_missing_dsn_is_named() -> None:
    with pytest.raises(Misconfigured) as error:
        SinkSettings.from_environment()

    assert "WATCHLINE_POSTGRES_DSN_FILE" in (error.value.hint or "")
