"""`watchline restore-state`: which rows it makes, and when it makes none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from brokers.kinds import Broker
from faults.invariants.changelogs import Changelog
from faults.invariants.plain import PlainFold, fold_log
from folds.log import answered, ended, identity, started
from letters.letters import Result
from restoring.past import store_past
from security.logins import login
from stack.contents import value
from stack.oracle import EAGER, judge
from stack.services import PARTITIONS
from watchline.cli.lag import committed_offsets
from watchline.consumers.roles import READER, WRITER
from watchline.schemas import Event, KafkaConnection, PipelineDeclared, Topics, encode
from watchline.streams.rows import RunsRow, decode_row, encode_row, offset_of

Restore = Callable[..., Any]
NOW = datetime.now(UTC).replace(microsecond=0)
BEGAN = NOW - timedelta(days=3)
NAMES = ("orders", "customers", "Ünïcode", "a\x1bb")


def run_of(name: str, number: int, *, rows: int = 100, **fields: Any) -> list[Event]:
    """A start and an end of a pipeline, half an hour after those of the number before."""
    begun, run = BEGAN + timedelta(minutes=30 * number, microseconds=number), (name, number)
    took = timedelta(microseconds=61_000_001 + 1000 * (number % 5))
    story: list[Event] = [started(run, begun), ended(run, begun + took, inserts=rows + number % 4, **fields)]
    return [event.model_copy(update={"pipeline": name}) for event in story]


def runs_of(name: str, numbers: range) -> list[Event]:
    """Some of them odd, failed, or the past loaded again; one verdict was answered."""
    found: list[Event] = []
    for number in numbers:
        odd = {} if number % 17 else {"rows": 5000}
        found += run_of(name, number, status="failed" if number % 13 == 0 else "succeeded", **odd)
        if number == 37:
            told = answered((name, 34), "false_positive", found[-1].occurred_at)
            found.append(told.model_copy(update={"pipeline": name}))
    return found


PAST = [event for name in NAMES for event in runs_of(name, range(60))]
FEW = [event for name in NAMES for event in runs_of(name, range(5))]
REST = [event for name in NAMES[:2] for event in runs_of(name, range(60, 75))]


async def send(broker: Broker, topics: Topics, events: Sequence[Event]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all") as producer:
        for event in events:
            await producer.send_and_wait(topics.runs, encode(event), key=event.pipeline.encode())


async def held(broker: Broker, topics: Topics) -> Changelog:
    return await Changelog(broker.bootstrap_servers, topics).read()


def kept(rows: dict[bytes, bytes]) -> dict[bytes, tuple[Any, ...]]:
    """What must be as without the loss: all that the log can't tell any more."""
    found = {key: decode_row(RunsRow, row) for key, row in rows.items()}
    return {
        key: (row.baselines, row.ended[-1][:16], row.digests, row.newest_outcome, row.last_change_at, row.flagged)
        for key, row in found.items()
    }


async def test_a_worker_goes_on_with_the_log_as_if_it_had_read_all_of_it(
    broker: Broker, topics: Topics, database: str, restore: Restore
) -> None:
    begun, over = REST[0], REST[1]
    await store_past(database, [*PAST, begun])  # it runs when the log is lost, and ends in the new one
    await send(broker, topics, [over, *REST[2:]])

    done, first = await restore(), await held(broker, topics)
    again, changelog = await restore(), await held(broker, topics)

    assert (done.code, again.code) == (0, 0), done.err
    assert "4 pipelines with 12 baselines, from 240 runs" in done.err
    assert changelog.rows == first.rows
    fold = PlainFold(topics, EAGER, partitions=PARTITIONS)
    assert changelog.homes == {key: {fold.partition_of(key)} for key in changelog.rows}
    fold.tables["runs"].data |= changelog.rows
    await fold_log(broker.bootstrap_servers, topics, fold)
    expected: dict[bytes, bytes] = {}
    told = list(judge([*PAST, *REST], now=NOW, rows=expected))
    assert kept(fold.tables["runs"].data) == kept(expected)
    late = {one.anomaly_id for effects in told[len(PAST) :] for one in effects.anomalies}
    assert fold.expected.anomalies.keys() == late != set()


async def test_what_the_log_still_has_is_left_to_the_worker(
    broker: Broker, topics: Topics, database: str, restore: Restore
) -> None:
    await store_past(database, [*FEW, *REST])
    await send(broker, topics, REST)

    await restore()

    whole: dict[bytes, bytes] = {}
    for _ in judge(FEW, now=NOW, rows=whole):
        pass
    rows = (await held(broker, topics)).rows
    assert kept(rows) == kept(whole)
    assert {offset_of(row) for row in rows.values()} == {-1}


async def test_a_dry_run_tells_what_would_be_made_and_writes_nothing(
    broker: Broker, topics: Topics, database: str, restore: Restore
) -> None:
    await store_past(database, FEW)

    done = await restore("--dry-run")

    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert ["orders", "5", "0", "3", "0"] in lines
    assert "\x1b" not in done.out
    assert "would be made: 4 pipelines" in done.err
    assert (await held(broker, topics)).rows == {}


@pytest.mark.parametrize(("arguments", "runs"), [((), 60), (("--runs", "10", "--days", "0"), 10)])
async def test_only_so_many_runs_are_read_and_all_of_the_last_days(
    arguments: tuple[str, ...], runs: int, database: str, restore: Restore
) -> None:
    await store_past(database, runs_of("orders", range(60)))

    done: Result = await restore("--dry-run", *arguments)

    assert f"from {runs} runs" in done.err


async def test_a_member_of_the_writers_may_and_a_reader_hears_what_is_missing(
    broker: Broker, topics: Topics, database: str, restore: Restore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store_past(database, FEW)

    async with login(database, WRITER) as writer, login(database, READER) as reader:
        monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", writer)
        written = await restore()
        monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", reader)
        refused = await restore()

    assert written.code == 0, written.err
    assert len((await held(broker, topics)).rows) == len(NAMES)
    assert refused.code == 2
    assert "must read the tables of the sink and make temporary ones" in refused.err


async def test_the_declared_rules_and_the_open_incidents_count(
    broker: Broker, topics: Topics, database: str, restore: Restore
) -> None:
    off = PipelineDeclared.model_validate(
        {
            "event_id": identity("off"), "occurred_at": BEGAN, "pipeline": "orders",
            "anomaly_rules": [{"metric": "throughput", "active": False}],
        }
    )  # fmt: skip
    await store_past(database, [off, *runs_of("orders", range(30)), *run_of("orders", 30, status="failed")])
    opened = await value(database, "select incident_id from incidents where status = 'open' and kind = 'failure'")

    await restore()

    row = decode_row(RunsRow, (await held(broker, topics)).rows[b"orders"])
    assert row.baselines.keys() == {"duration_seconds", "inserts"}
    assert [it.incident_id for it in row.incidents if it.kind == "failure"] == [opened.bytes]


async def test_nothing_is_made_of_what_was_never_stored(broker: Broker, topics: Topics, restore: Restore) -> None:
    await send(broker, topics, REST)

    done = await restore()

    assert done.code == 0
    assert "nothing to make" in done.err


async def test_the_workers_begin_where_the_log_begins(
    broker: Broker, topics: Topics, database: str, restore: Restore
) -> None:
    await store_past(database, FEW)
    await send(broker, topics, REST)
    kafka, places = KafkaConnection(bootstrap_servers=broker.bootstrap_servers), places_of(topics)
    await commit(broker, topics, dict.fromkeys(places, 3))

    await restore("--dry-run")
    untouched = await committed_offsets(kafka, topics.application, places)
    await restore()

    assert set(untouched.values()) == {3}
    assert set((await committed_offsets(kafka, topics.application, places)).values()) == {0}


def places_of(topics: Topics) -> list[TopicPartition]:
    return [TopicPartition(topics.runs, number) for number in range(PARTITIONS)]


async def commit(broker: Broker, topics: Topics, offsets: dict[TopicPartition, int]) -> None:
    async with AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, group_id=topics.application, enable_auto_commit=False
    ) as consumer:
        consumer.assign(list(offsets))
        await consumer.commit({place: OffsetAndMetadata(offset, "") for place, offset in offsets.items()})


async def test_it_refuses_while_a_worker_is_running(
    broker: Broker, topics: Topics, database: str, restore: Restore
) -> None:
    await store_past(database, FEW)
    async with AIOKafkaConsumer(
        topics.runs, bootstrap_servers=broker.bootstrap_servers, group_id=topics.application, session_timeout_ms=6000,
        rebalance_timeout_ms=6000,
    ) as member:  # fmt: skip
        async with asyncio.timeout(30):
            while not member.assignment():
                await asyncio.sleep(0.05)
        await member.getmany(timeout_ms=100)

        refused, shown = await restore("--force"), await restore("--dry-run")

    assert refused.code == 1
    assert f"1 workers of {topics.application} are running: nothing was written" in refused.err
    assert "it would be refused now: 1 workers" in shown.err
    assert (await held(broker, topics)).rows == {}


async def test_newer_rows_are_kept_and_the_sink_is_waited_for_unless_it_is_forced(
    broker: Broker, topics: Topics, database: str, restore: Restore
) -> None:
    await store_past(database, FEW)
    newer, home = encode_row(RunsRow(0, 5)), PlainFold(topics, EAGER, partitions=PARTITIONS).partition_of(b"orders")
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
        await producer.send_and_wait(topics.changelog("runs"), newer, key=b"orders", partition=home)
        await producer.send_and_wait(topics.state, b"{}", partition=2)

    refused = await restore()
    rows = (await held(broker, topics)).rows
    forced = await restore("--force")

    assert refused.code == 1
    assert "the changelog has newer rows of orders; the sink has not stored 1 records yet" in refused.err
    assert rows == {b"orders": newer}
    assert forced.code == 0
    assert offset_of((await held(broker, topics)).rows[b"orders"]) == -1


async def test_a_log_of_another_epoch_is_refused(
    database: str, restore: Restore, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("insert into ingestion values (1, 2, now(), (1::bigint << 44) + 7)")

    shorter = await restore()
    await connection.execute("insert into sink_offsets values (2, 't', 0, 7, 1, 'test')")
    older = await restore()
    await connection.close()

    assert (shorter.code, older.code) == (2, 2)
    assert "ends at 0, and Postgres has read it up to 7" in shorter.err
    assert "rows of log epoch 2 and WATCHLINE_LOG_EPOCH is 1" in older.err
