"""The promise of the shell: effects before rows, and a failure in between changes nothing in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast

import pytest
from aiokafka.errors import KafkaError
from faust.types.tuples import TP, ConsumerMessage

from folds.log import KEY, NOON, ended, started
from watchline.schemas import KafkaConnection, PipelineDeclared, WatermarkAdvanced, encode
from watchline.streams import shell
from watchline.streams.declarations import UNDECLARED
from watchline.streams.folders import DeclarationsFolder, RunsFolder, WatermarksFolder
from watchline.streams.pulses import encode_pulse
from watchline.streams.rows import RunsRow, clock_key, encode_row
from watchline.streams.runs.desk import Rhythm, Tables
from watchline.streams.settings import StreamsSettings
from watchline.streams.shell import Folder, Shell
from watchline.streams.transport import RawRecord

SETTINGS = StreamsSettings(kafka=KafkaConnection(bootstrap_servers="127.0.0.1:1"), partitions=1)
PULSE = encode_pulse(1_796_040_000_000_000)


@dataclass
class Event:
    """What Faust hands over."""

    message: ConsumerMessage


@dataclass
class World:
    """Producer, application and table in one, with a journal of what became durable; `fail_at` step nothing does."""

    fail_at: int | None = None
    steps: int = 0
    journal: list[str] = field(default_factory=list)
    sent: dict[tuple[str, bytes | None], bytes | None] = field(default_factory=dict)
    data: dict[bytes, bytes] = field(default_factory=dict)
    mine: frozenset[int] = frozenset({0})
    consumer_generation_id: int = 1
    between: Callable[[], None] = lambda: None
    crashed: asyncio.Future[BaseException] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def crash(self, reason: BaseException) -> None:
        self.crashed.set_result(reason)

    @property
    def producer(self) -> World:
        return self

    @property
    def consumer(self) -> World:
        return self

    async def commit(self) -> None:
        self.journal.append("commit")

    def owned(self) -> frozenset[int]:
        return self.mine

    async def send_batches(self, topic: str, partition: int, records: Iterable[RawRecord]) -> list[Any]:
        self._step(topic)
        self.between()
        self.sent |= {(topic, value): value for _, value, _ in records}
        return []

    async def partition_of(self, topic: str, key: bytes | None) -> int:
        return 0

    async def put_many(self, by_partition: Mapping[int, Mapping[bytes, bytes]]) -> list[asyncio.Future[None]]:
        self._step("rows")
        for rows in by_partition.values():
            self.data |= rows
        return []

    def rows(self) -> list[tuple[int, bytes, bytes]]:
        return [(0, key, row) for key, row in self.data.items()]

    def _step(self, name: str) -> None:
        self.steps += 1
        if self.steps - 1 == self.fail_at:
            raise KafkaError(f"{name} is away")
        self.journal.append(name)


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "FIRST_RETRY_SECONDS", 0.0)


def events(*values: bytes, first: int = 0) -> list[Any]:
    return [
        Event(
            cast(Any, ConsumerMessage)(
                "watchline.runs", 0, first + n, 1.5, 0, None, KEY, value, None,
                tp=TP("watchline.runs", 0), generation_id=1,
            )
        )
        for n, value in enumerate(values)
    ]  # fmt: skip


def runs_folder(world: World) -> RunsFolder:
    tables = Tables(row=world.data.get, declared=lambda _: UNDECLARED, keys=lambda _: [KEY])
    return RunsFolder(tables, Rhythm(5, 0, 0))


def shell_of(world: World, folder: Folder, **changes: Any) -> Shell:
    settings = SETTINGS.model_copy(update=changes)
    return Shell(cast(Any, world), settings, "watchline.runs", cast(Any, world), folder)


STORY = (
    PULSE,
    encode(started("a", NOON)),
    b"{",
    encode(ended("a", NOON + timedelta(minutes=1), "failed", error={"message": "boom"})),
)


async def test_effects_and_dead_letters_are_durable_before_the_row() -> None:
    world = World()

    await shell_of(world, runs_folder(world)).absorb(events(*STORY))

    assert sorted(world.journal[:-1]) == ["watchline.dead-letters", "watchline.incidents", "watchline.state"]
    assert world.journal[-1] == "rows"


@pytest.mark.parametrize("step", range(4))
async def test_a_step_that_fails_once_leads_to_the_same_rows_and_records(step: int) -> None:
    calm, rough = World(), World(fail_at=step)

    await shell_of(calm, runs_folder(calm)).absorb(events(*STORY))
    await shell_of(rough, runs_folder(rough)).absorb(events(*STORY))

    def findings(world: World) -> set[tuple[str, bytes | None]]:
        return {entry for entry in world.sent if "dead" not in entry[0]}  # a letter says when it was written

    assert rough.steps > calm.steps
    assert set(rough.data) == {KEY, clock_key(0)}
    assert findings(rough) == findings(calm)


async def test_when_too_many_are_bad_the_worker_stops_with_this_batch_done_and_the_next_in_hand() -> None:
    world = World()
    shell = shell_of(world, runs_folder(world), breaker_window=4)

    await shell.absorb(events(PULSE, b"{", b"[", encode(started("a", NOON))))
    going_on = not world.crashed.done()
    await shell.absorb(events(PULSE, b"{", encode(started("b", NOON)), first=4))
    said = list(world.journal)
    holding = asyncio.create_task(shell.absorb(events(encode(started("c", NOON)), first=7)))
    crash = await asyncio.wait_for(world.crashed, 10)

    assert going_on
    assert "3 of the last 4 records of watchline.runs are bad" in str(crash)
    assert said[-1] == "rows"
    assert [topic for topic, _ in world.sent].count("watchline.dead-letters") == 3
    assert not holding.done()
    assert world.journal == [*said, "commit", "commit"]
    holding.cancel()


async def test_a_batch_that_is_done_again_is_counted_once() -> None:
    world = World(fail_at=0)

    await shell_of(world, runs_folder(world), breaker_window=4).absorb(events(b"{", b"["))

    assert world.steps > 1
    assert not world.crashed.done()


async def test_a_batch_whose_partition_moved_is_dropped_in_peace() -> None:
    world = World(mine=frozenset())

    await shell_of(world, runs_folder(world)).absorb(events(*STORY))

    assert world.journal == []


async def test_a_partition_that_moves_while_effects_are_sent_gets_no_row_from_us() -> None:
    world = World()
    folder = runs_folder(world)

    def rebalance() -> None:
        world.mine = frozenset()
        folder.keep(world.mine)

    world.between = rebalance
    await shell_of(world, folder).absorb(events(*STORY))

    assert "rows" not in world.journal


async def test_a_row_of_a_later_format_stops_the_worker_with_the_batch_in_hand() -> None:
    world = World(data={KEY: b"\x09" + encode_row(RunsRow(0))[1:]})

    absorbing = asyncio.create_task(shell_of(world, runs_folder(world)).absorb(events(*STORY)))
    crash = await asyncio.wait_for(world.crashed, 10)

    assert "format 9" in str(crash)
    assert not absorbing.done()
    assert world.journal == []
    absorbing.cancel()


@pytest.mark.parametrize("topic", ["pipelines", "watermarks"])
async def test_a_record_that_a_row_has_absorbed_leaves_the_row_as_it_is(topic: str) -> None:
    world = World()
    common: dict[str, Any] = {"occurred_at": NOON, "pipeline": KEY.decode()}
    if topic == "pipelines":
        folder: Folder = DeclarationsFolder(cast(Any, world), epoch=0, wake=lambda _, __: None)
        story = [encode(PipelineDeclared(event_id=started(run).event_id, **common)) for run in "ab"]
    else:
        folder = WatermarksFolder(cast(Any, world), epoch=0, wake=lambda _, __: None)
        story = [encode(WatermarkAdvanced(event_id=started(run).event_id, watermark=run, **common)) for run in "ab"]
    await shell_of(world, folder).absorb(events(*story))
    before = dict(world.data)

    await shell_of(world, folder).absorb(events(story[0]))

    assert world.data == before


async def test_a_pipeline_is_woken_when_its_declaration_can_be_read() -> None:
    world = World()
    seen: list[bool] = []
    folder = DeclarationsFolder(cast(Any, world), epoch=0, wake=lambda _, key: seen.append(key in world.data))
    declared = PipelineDeclared(event_id=started("a").event_id, occurred_at=NOON, pipeline=KEY.decode())

    await shell_of(world, folder).absorb(events(encode(declared)))

    assert seen == [True]
