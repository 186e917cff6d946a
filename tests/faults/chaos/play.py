"""The run: load and faults by a schedule, then everything is healed, comes to rest, and is checked."""

from __future__ import annotations

import asyncio
import resource
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiokafka import TopicPartition

from faults.chaos.checks import Evidence
from faults.chaos.commits import Commits
from faults.chaos.ground import Ground, open_ground
from faults.chaos.injectors import inject
from faults.chaos.journal import Journal
from faults.chaos.load import Load, record_of
from faults.chaos.log import PARTITIONS
from faults.chaos.outcome import Outcome, Plan
from faults.chaos.probes import Probes
from faults.chaos.schedule import Fault
from faults.chaos.spool import Spool
from faults.chaos.stand import Stand
from faults.chaos.writer import Writer
from faults.invariants.moments import Moment
from faults.invariants.progress import Recovery as Rest
from faults.invariants.progress import alive_again
from faults.invariants.residence import Samples, sampling
from faults.invariants.values import bounded_memory, monotone_watermarks
from faults.invariants.violations import found
from faults.invariants.watching import watching
from stack.contents import value
from watchline.cli.lag import committed_offsets, end_offsets, lag
from watchline.schemas import KafkaConnection

CORE = ("worker 1", "worker 2", "sink 1", "notifier")
OLD_SECONDS = 150.0  # a younger process still fills its caches
REST_SECONDS = 120.0  # the run is given up when it has not come to rest by then
WATCHED = 12
DECLARED = "select count(*) from pipeline_versions"


async def play(plan: Plan, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Play it on parts of its own in `folder`; what was violated is in the outcome."""
    async with open_ground(folder, plan.environment, apache=plan.apache, nodes=plan.nodes) as ground:
        run = Run(plan, ground, folder, say)
        with run.journal, closing(run.moments), closing(run.commits.samples):
            await run.go()
        return run.outcome


class Run:
    """One run on its ground."""

    def __init__(self, plan: Plan, ground: Ground, folder: Path, say: Callable[[str], None]) -> None:
        self.plan, self.ground, self.say = plan, ground, say
        self.journal = Journal(folder / "journal.txt")
        self.moments = Spool[Moment](folder / "moments.bin")
        self.load = Load(plan.seed, ground.topics)
        self.writer = Writer(ground.jobs_address, self.load, self.journal, rate=plan.rate)
        self.probes = Probes(ground.dsn, ground.topics, self.writer, PARTITIONS)
        self.outcome = Outcome(plan)
        self._kafka = KafkaConnection(bootstrap_servers=ground.address)
        self.stand = Stand(self._kafka, ground.topics, ground.dsn)
        self.commits = Commits(self._kafka, ground.topics, ground.dsn, Spool(folder / "commits.bin"))
        self._parts: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._healed = 0.0

    async def go(self) -> None:
        """Start, harm, heal, rest, check."""
        for name in CORE:
            self.ground.fleet.start(name)
        watched = self.load.names[:WATCHED]
        async with (
            background(
                self.ground.fleet.keep(), self.probes.watch(), *([self.commits.watch()] if self.plan.apache else ())
            ),
            watching(self.ground.dsn, self.ground.topics, pipelines=watched, keep=self.moments.keep),
            sampling(self._pids, seconds=2) as samples,
        ):
            for name in CORE:
                await self.ground.fleet.ready(name)
            self.say("all services are ready")
            await self._send_and_harm()
            await self._come_to_rest()
            read_to = await self._stop_all()
        self._sum_up(samples)
        self.say("everything is at rest; checking")
        await self._check(read_to, watched)

    async def _send_and_harm(self) -> None:
        """Load from the first to the last fault and some seconds more; then all harm is undone."""
        enough = asyncio.Event()
        began = time.monotonic()
        async with self.writer.open(), asyncio.TaskGroup() as tasks:
            await self._declare()
            began = self.ground.fleet.began = time.monotonic()
            tasks.create_task(self.writer.run(enough))
            tasks.create_task(self.probes.send(enough))
            await self._harm(began)
            await asyncio.sleep(max(0.0, began + self.plan.minutes * 60 - time.monotonic()))
            self._heal()
            self.outcome.seconds = time.monotonic() - began
            self._healed = time.monotonic()
            enough.set()

    async def _declare(self) -> None:
        """Declarations first: no order between two topics is needed then."""
        declared = self.load.declarations(datetime.now(UTC))
        await self.writer.send(record_of(event, self.ground.topics) for event in declared)
        async with asyncio.timeout(60):
            while await value(self.ground.dsn, DECLARED) < len(declared):
                await asyncio.sleep(0.1)
        await asyncio.sleep(1)  # what is said is not remembered yet

    async def _harm(self, began: float) -> None:
        async with asyncio.TaskGroup() as faults:
            for fault in self.plan.faults:
                await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
                self.say(str(fault))
                faults.create_task(self._suffer(fault))

    async def _suffer(self, fault: Fault) -> None:
        async with self._parts[fault.hits]:  # undoing may take longer than planned
            await inject(self.ground, self.load, fault)
            self.probes.over(fault)

    def _heal(self) -> None:
        """Every fault has undone itself; this is for the one that could not."""
        for link in (self.ground.kafka_link, self.ground.sinks_link):
            if link is not None:
                link.heal()
        for name in CORE:
            self.ground.fleet.send(name, signal.SIGCONT)
            self.ground.fleet.slots[name].wanted = True

    async def _come_to_rest(self) -> None:
        """Wait until all that was sent is stored and heard, and send a last canary through it."""
        topics = self.ground.topics
        self.say("all harm is over")
        ends = await end_offsets(self._kafka, topics.sources)
        async with asyncio.timeout(REST_SECONDS):
            while lag(ends, await self.stand.committed(topics.application, ends)):
                await asyncio.sleep(0.1)
            await self.stand.stored()
            lag_seconds = time.monotonic() - self._healed
            async with self.writer.open():
                canary = await self.probes.round_trip()
            while self.probes.waiting or await self.stand.unheard():
                await asyncio.sleep(0.1)
        fleet = self.ground.fleet
        self.outcome.rest = Rest(lag_seconds, canary, len(fleet.gave_up), self.plan.minutes)
        self.outcome.violations += alive_again(self.outcome.rest)

    async def _stop_all(self) -> dict[TopicPartition, int]:
        """Stop the workers, then those behind them when they have had it all; where the workers stood."""
        fleet, topics = self.ground.fleet, self.ground.topics
        for name in ("worker 1", "worker 2"):
            await fleet.stop(name)
        places = await end_offsets(self._kafka, topics.sources)
        read_to = await committed_offsets(self._kafka, topics.application, places)
        async with asyncio.timeout(REST_SECONDS):
            await self.stand.stored()
            while await self.stand.unheard():
                await asyncio.sleep(0.1)
        for name in ("sink 1", "notifier"):
            await fleet.stop(name)
        return read_to

    def _sum_up(self, samples: Samples) -> None:
        fleet, outcome = self.ground.fleet, self.outcome
        outcome.recoveries, outcome.slowest_canary = self.probes.recoveries, self.probes.slowest
        outcome.counts.update(self.journal.counts)
        outcome.longest_stop, outcome.refused = fleet.longest_stop, len(fleet.exits) - len(fleet.gave_up)
        outcome.gave_up = [f"{one.name} with code {one.code} at {one.at:.1f} s" for one in fleet.gave_up]
        outcome.violations += found(
            "I10", (f"{name} did not end within {took:.0f} s" for name, took in fleet.slow_stops)
        )
        for name, sizes in samples.items():
            kind = name.split("-")[0]
            outcome.memory[kind] = max([outcome.memory.get(kind, 0), *(size for _, size in sizes)])
        old = [sizes for sizes in samples.values() if sizes[-1][0] - sizes[0][0] > OLD_SECONDS]
        outcome.violations += [violation for sizes in old for violation in bounded_memory(sizes)]
        if not old:
            outcome.unjudged["I16"] = f"no process lived for {OLD_SECONDS:.0f} s"
        outcome.violations += self.commits.violations
        outcome.violations += monotone_watermarks(self.probes.marks)

    async def _check(self, read_to: dict[TopicPartition, int], watched: list[str]) -> None:
        topics = self.ground.topics
        outputs = await end_offsets(self._kafka, topics.outputs)
        told = await committed_offsets(self._kafka, topics.sink_group, outputs)
        crashes = sum(fault.hits in ("notifier", "Postgres") for fault in self.plan.faults)
        evidence = Evidence(
            self.ground,
            self.journal,
            self.moments,
            watched,
            read_to,
            told,
            await self.stand.sinks(),
            crashes,
            self.commits,
        )
        await evidence.gather()
        self.outcome.violations += evidence.violations
        self.outcome.memory["the run itself"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.outcome.counts.update(evidence.counts)

    def _pids(self) -> dict[str, int]:
        return {
            child.name: child.pid
            for slot in self.ground.fleet.slots.values()
            if (child := slot.child) is not None and child.exit_code is None
        }


@asynccontextmanager
async def background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Things that go on for as long as the block lasts; one that fails ends it."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        yield
        for task in tasks:
            task.cancel()
