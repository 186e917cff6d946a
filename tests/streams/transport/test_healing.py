"""The newest row of a key stands last in the changelog, whatever a worker that slept writes into it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from faust.types import TP, RecordMetadata
from structlog.testing import capture_logs

from streams.transport.memory import MemoryBroker, source, table, until  # noqa: TID251 - the folder of these tests
from watchline.streams.transport import StateTable, healing

CHANGELOG = "watched-rows-changelog"
PLACE = TP(CHANGELOG, 0)


@pytest.fixture
def app(make: Callable[..., Any]) -> Any:
    return make()


@pytest.fixture
def rows(app: Any) -> Any:
    rows = table(app)
    rows.age_of = int

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def ignore(stream: Any) -> None:
        async for _ in stream.take_events(100):
            pass

    return rows


async def write(rows: StateTable, **values: bytes) -> None:
    await asyncio.gather(*await rows.put_many({0: {key.encode(): value for key, value in values.items()}}))


def written(memory: MemoryBroker) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in memory.records(CHANGELOG)]


async def test_a_late_row_before_one_of_ours_is_followed_by_the_newest_one(
    memory: MemoryBroker, app: Any, rows: Any
) -> None:
    await app.start()
    await write(rows, a=b"7", b=b"7")
    memory.append(CHANGELOG, 0, b"a", b"3")
    await write(rows, c=b"8")

    with capture_logs() as logs:
        await rows.healer.look()
        await rows.healer.look()

    assert written(memory)[2:] == [(b"a", b"3"), (b"c", b"8"), (b"a", b"7")]
    assert app.consumer.ranges == [(PLACE, range(2, 3))]
    healed = {"event": "changelog.healed", "topic": CHANGELOG, "partition": 0, "foreign": 1, "rows": 1}
    assert logs == [healed | {"log_level": "warning"}]


async def test_a_late_row_after_all_of_ours_is_found_without_a_write(memory: MemoryBroker, app: Any, rows: Any) -> None:
    await app.start()
    await write(rows, a=b"7")
    memory.append(CHANGELOG, 0, b"a", b"3")

    await rows.healer.look(at_ends=False)
    before = len(written(memory))
    await rows.healer.look()
    await rows.healer.look()

    assert before == 2
    assert written(memory) == [(b"a", b"7"), (b"a", b"3"), (b"a", b"7")]


async def test_a_late_row_from_before_a_recovery_is_followed_by_the_newest_one(
    memory: MemoryBroker, app: Any, rows: Any
) -> None:
    for key, value in ((b"a", b"7"), (b"b", b"7"), (b"a", b"3"), (b"b", b"3"), (b"b", b"8")):
        memory.append(CHANGELOG, 0, key, value)

    await app.start()
    await rows.healer.look()
    await rows.healer.look()

    assert written(memory)[5:] == [(b"a", b"7")]


async def test_the_table_looks_by_itself(
    memory: MemoryBroker, app: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchline.streams.transport.table.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("watchline.streams.transport.table.ENDS_EVERY", 3)
    await app.start()
    await write(rows, a=b"7")
    memory.append(CHANGELOG, 0, b"a", b"3")

    await until(lambda: written(memory)[2:] == [(b"a", b"7")])


async def test_a_worker_that_slept_itself_answers_no_newer_rows(memory: MemoryBroker, app: Any, rows: Any) -> None:
    await app.start()
    await write(rows, a=b"1")
    memory.append(CHANGELOG, 0, b"a", b"7")
    memory.append(CHANGELOG, 0, b"a", b"0")  # by yet another one
    await write(rows, a=b"2")

    await rows.healer.look()

    assert len(written(memory)) == 4


@pytest.mark.parametrize("meanwhile", ["a record of ours that was sent twice", "no record"])
async def test_a_gap_that_does_no_harm_is_read_once_and_answered_by_nothing(
    memory: MemoryBroker, app: Any, rows: Any, meanwhile: str
) -> None:
    await app.start()
    await write(rows, a=b"7")
    if meanwhile == "no record":
        memory.skip(CHANGELOG, 0)
    else:
        memory.append(CHANGELOG, 0, b"a", b"8")
    await write(rows, a=b"8")
    before = written(memory)

    await rows.healer.look()
    await rows.healer.look()

    assert written(memory) == before
    assert app.consumer.ranges == [(PLACE, range(1, 2))]


async def test_a_late_row_is_not_answered_once_a_newer_one_of_another_has_come(
    memory: MemoryBroker, app: Any, rows: Any
) -> None:
    await app.start()
    await write(rows, a=b"7")
    memory.append(CHANGELOG, 0, b"a", b"3")
    await write(rows, b=b"7")
    memory.append(CHANGELOG, 0, b"a", b"9")
    await write(rows, b=b"8")

    await rows.healer.look()

    assert len(written(memory)) == 5
    assert len(app.consumer.ranges) == 2


async def test_rows_are_written_again_in_slices(
    memory: MemoryBroker, app: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(healing, "SLICE_ROWS", 2)
    await app.start()
    names = ["a", "b", "c", "d", "e"]
    await write(rows, **dict.fromkeys(names, b"7"))
    for name in names:
        memory.append(CHANGELOG, 0, name.encode(), b"3")

    await rows.healer.look()

    assert written(memory)[10:] == [(name.encode(), b"7") for name in names]


async def test_a_row_on_its_way_is_not_followed_by_the_one_before_it(
    memory: MemoryBroker, app: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.start()
    await write(rows, a=b"7")
    memory.append(CHANGELOG, 0, b"a", b"3")
    await write(rows, b=b"7")
    answer: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()

    async def append(*_: object) -> list[tuple[asyncio.Future[RecordMetadata], int]]:
        memory.append(CHANGELOG, 0, b"a", b"9")
        return [(answer, 1)]

    with monkeypatch.context() as patch:
        patch.setattr(app.producer, "send_batches", append)
        (stored,) = await rows.put_many({0: {b"a": b"9"}})
    looking = asyncio.ensure_future(rows.healer.look())
    await until(rows.trails[0].turn.locked)
    answer.set_result(RecordMetadata(CHANGELOG, 0, PLACE, 3))
    await asyncio.gather(stored, looking)

    assert written(memory)[3:] == [(b"a", b"9"), (b"a", b"9")]


async def test_nothing_is_written_again_into_a_partition_that_is_not_ours(
    memory: MemoryBroker, app: Any, rows: Any
) -> None:
    await app.start()
    await write(rows, a=b"7")
    memory.append(CHANGELOG, 0, b"a", b"3")
    await write(rows, b=b"7")
    app.consumer.moving = True

    await rows.healer.look()
    before = written(memory)
    app.consumer.moving = False
    await rows.healer.look()

    assert len(before) == 3
    assert written(memory)[3:] == [(b"a", b"7")]
