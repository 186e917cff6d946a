"""When everything works again: canaries through the whole of it, and the oldest alert that nobody has heard."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID, uuid5

import asyncpg
from aiokafka.partitioner import murmur2

from faults.chaos.load import Record, record_of
from faults.chaos.schedule import Fault
from faults.chaos.writer import Writer
from watchline.schemas import RunEnded, Topics

NAMESPACE = UUID("3f2f0d3e-8c1c-4a6f-9f0b-3f8a5e9a7c11")
EVERY_SECONDS = 0.5
POLL_SECONDS = 0.05
LOST_SECONDS = 300.0
ARRIVED = "select run_id from runs where run_id = any($1::uuid[])"
UNHEARD = "select count(*) from alert_outbox where state = 'pending' and created_at < $1"
MARKS = "select pipeline, dataset, effective::bigint as effective from watermarks where updated_at > $1"
MARKS_SECONDS = 0.5
LOOK_BACK = timedelta(seconds=30)  # longer than a transaction of the sink may be open
OF_ALERTS = ("notifier", "Slack")


@dataclass
class Recovery:
    """A fault that is over, and how many seconds later what was sent since then had arrived everywhere."""

    fault: Fault
    ended: float  # monotonic
    ended_at: datetime
    seconds: float | None = None


@dataclass
class Probes:
    """Sends a canary into every partition twice a second and watches them arrive in Postgres."""

    dsn: str
    topics: Topics
    writer: Writer
    partitions: int
    recoveries: list[Recovery] = field(default_factory=list)
    sent: int = 0
    marks: list[tuple[tuple[str, str], int]] = field(default_factory=list)  # each change that was seen, in its order
    slowest: float = 0.0  # seconds from a canary's send to its row
    _flying: dict[UUID, tuple[int, float]] = field(default_factory=dict)
    _names: list[str] = field(init=False)
    _newest: dict[int, float] = field(default_factory=dict)  # when the newest that has arrived was sent

    _stands: dict[tuple[str, str], int] = field(default_factory=dict)
    _marked: float = 0.0

    def __post_init__(self) -> None:
        self._names = list(canary_keys(self.partitions))

    def over(self, fault: Fault) -> None:
        """A fault has ended: measure from now."""
        self.recoveries.append(Recovery(fault, time.monotonic(), datetime.now(UTC)))

    @property
    def waiting(self) -> list[Recovery]:
        return [each for each in self.recoveries if each.seconds is None]

    async def send(self, enough: asyncio.Event) -> None:
        """Send canaries until `enough` is set."""
        while not enough.is_set():
            await self.send_once()
            await asyncio.sleep(EVERY_SECONDS)

    async def send_once(self) -> list[UUID]:
        """One canary into each partition; their runs. One that has not arrived for long was never acknowledged."""
        self._flying = {run: one for run, one in self._flying.items() if time.monotonic() - one[1] < LOST_SECONDS}
        runs = []
        for partition, name in enumerate(self._names):
            self.sent += 1
            run_id = uuid5(NAMESPACE, f"{self.topics.prefix} {self.sent}")
            self._flying[run_id] = (partition, time.monotonic())
            await self.writer.send([self._canary(name, run_id)])
            runs.append(run_id)
        return runs

    async def round_trip(self) -> float:
        """Seconds until one canary into each partition has arrived."""
        began = time.monotonic()
        runs = set(await self.send_once())
        while runs & self._flying.keys():
            await asyncio.sleep(POLL_SECONDS)
        return time.monotonic() - began

    async def watch(self) -> None:
        """Look for arrivals, for ever; Postgres may come and go."""
        while True:
            try:
                connection = await asyncpg.connect(self.dsn, timeout=2, command_timeout=5)
                try:
                    while True:
                        await self._look(connection)
                        if time.monotonic() - self._marked > MARKS_SECONDS:
                            await self._look_at_marks(connection)
                            self._marked = time.monotonic()
                        await asyncio.sleep(POLL_SECONDS)
                finally:
                    connection.terminate()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
                await asyncio.sleep(POLL_SECONDS)  # it is one of the parts that suffer

    async def _look(self, connection: asyncpg.Connection) -> None:
        for row in await connection.fetch(ARRIVED, list(self._flying)):
            partition, sent = self._flying.pop(row["run_id"])
            self.slowest = max(self.slowest, time.monotonic() - sent)
            self._newest[partition] = max(sent, self._newest.get(partition, 0.0))
        reached = min(self._newest.values()) if len(self._newest) == self.partitions else 0.0
        for each in self.waiting:
            if each.fault.hits in OF_ALERTS:
                done = await connection.fetchval(UNHEARD, each.ended_at) == 0
            else:
                done = reached > each.ended
            if done:
                each.seconds = time.monotonic() - each.ended

    async def _look_at_marks(self, connection: asyncpg.Connection) -> None:
        """Note where watermarks stand that have changed since the last look."""
        for row in await connection.fetch(MARKS, datetime.now(UTC) - LOOK_BACK):
            place = (row["pipeline"], row["dataset"])
            if self._stands.get(place) != row["effective"]:
                self._stands[place] = row["effective"]
                self.marks.append((place, row["effective"]))

    def _canary(self, name: str, run_id: UUID) -> Record:
        event = RunEnded(
            event_id=uuid5(run_id, "end"), occurred_at=datetime.now(UTC), pipeline=name, run_id=run_id,
            status="succeeded", duration_ms=1000, inserts=1,
        )  # fmt: skip
        return record_of(event, self.topics)


def canary_keys(partitions: int) -> Iterator[str]:
    """A pipeline for each partition, in the order of the partitions."""
    for partition in range(partitions):
        names = (f"canary-{number}" for number in count())
        yield next(name for name in names if home_of(name, partitions) == partition)


def home_of(pipeline: str, partitions: int) -> int:
    """The partition of a pipeline under Kafka's default partitioner."""
    return int(murmur2(pipeline.encode()) & 0x7FFFFFFF) % partitions


def worst_and_median(
    recoveries: Sequence[Recovery], choose: Callable[[Recovery], str]
) -> dict[str, tuple[int, float, float]]:
    """How many of each, the longest and the middle one."""
    by_name: dict[str, list[float]] = {}
    for each in recoveries:
        by_name.setdefault(choose(each), []).append(float("inf") if each.seconds is None else each.seconds)
    return {name: (len(all_), max(all_), sorted(all_)[len(all_) // 2]) for name, all_ in by_name.items()}
