"""What the jobs of a few hundred pipelines say: runs with their starts, heartbeats, ends and watermarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, Literal
from uuid import UUID

from watchline.schemas import (
    Event,
    Freshness,
    PipelineDeclared,
    RunEnded,
    RunError,
    RunHeartbeat,
    RunStarted,
    Timeliness,
    Topics,
    WatermarkAdvanced,
    encode,
)
from watchline.schemas.topics import watermark_key

PIPELINES = 200
SLOW_EVERY = 20  # every so many pipelines has runs that last longer than they should
STALE_EVERY = 25  # every so many pipelines loads too seldom
LIMIT = 10  # seconds
HANGING = 0.05  # of the runs of a slow pipeline: a message names six incidents, and more must not wait for one
QUIET = timedelta(seconds=9)
REPEATED, LATE = 0.3, 400  # this share of the records again, up to so many records later
Mode = Literal["duplicates", "shuffled windows", "poison"]
RUBBISH = (b"\x00\xff{", b"{", b"[]", b"null", b'{"event_type": "run.ended"}', b'{"event_type": \xc3\x28}', b"")


@dataclass(frozen=True, slots=True)
class Record:
    """One Kafka record to send; by `identity` its effect is told in Postgres, or that it has none of its own."""

    topic: str
    key: bytes | None
    value: bytes
    identity: str


@dataclass(slots=True)
class Job:
    """One pipeline: what it usually loads, and its runs in flight."""

    name: str
    rows: float
    seconds: float
    slow: bool
    stale: bool
    open: list[tuple[UUID, datetime, float]] = field(default_factory=list)  # with the least seconds that it lasts
    loads: int = 0
    quiet_until: datetime | None = None


class Load:
    """Makes events one after the other; ids and choices follow from the seed, times are those given."""

    def __init__(self, seed: int, topics: Topics, *, pipelines: int = PIPELINES) -> None:
        self.modes: set[Mode] = set()
        self._random = random = Random(f"load {seed}")
        self._harm = Random(f"harm {seed}")  # of its own, so that the events are the same with and without it
        self._topics = topics
        self._jobs = [
            Job(
                f"pipeline-{number:03}",
                rows=random.lognormvariate(7, 2),
                seconds=random.lognormvariate(4, 1),
                slow=number % SLOW_EVERY == 1,
                stale=number % STALE_EVERY == 2,
            )
            for number in range(pipelines)
        ]
        self._recent: list[Record] = []
        self._held: list[Record] = []
        self._poisons = 0

    @property
    def names(self) -> list[str]:
        """All pipelines."""
        return [job.name for job in self._jobs]

    def declarations(self, now: datetime) -> list[PipelineDeclared]:
        """Half of the pipelines, and all that have limits, declare themselves."""
        return [
            PipelineDeclared(
                event_id=self._id(), occurred_at=now, pipeline=job.name, owner="team-a", watermark_kind="integer",
                timeliness=Timeliness(max_duration_seconds=LIMIT) if job.slow else None,
                freshness=Freshness(max_age_seconds=6) if job.stale else None,
            )
            for number, job in enumerate(self._jobs)
            if number % 2 == 0 or job.slow or job.stale
        ]  # fmt: skip

    def take(self, count: int, now: datetime) -> list[Record]:
        """The next `count` records or a few more or less, in the order in which they are to be sent."""
        records: list[Record] = []
        for _ in range(count):
            records += self._with_rubbish(self._next(now))
        self._recent = (self._recent + records)[-LATE:]
        if "duplicates" in self.modes:
            records += [record for record in self._recent if self._harm.random() < REPEATED * count / LATE]
        return self._in_windows(records)

    def _in_windows(self, records: list[Record]) -> list[Record]:
        """`records` in their order, or nothing until there is a whole window, and that in any order."""
        self._held += records
        if "shuffled windows" in self.modes:
            if len(self._held) < LATE:
                return []
            self._harm.shuffle(self._held)
        window, self._held = self._held, []
        return window

    def _with_rubbish(self, record: Record) -> Iterator[Record]:
        if "poison" in self.modes and self._harm.random() < 0.1:
            self._poisons += 1
            value = self._harm.choice(RUBBISH) + b" %d" % self._poisons
            yield Record(record.topic, record.key, value, f"rubbish:{self._poisons}")
        yield record

    def _next(self, now: datetime) -> Record:
        job = self._random.choice(self._jobs)
        while job.quiet_until is not None and now < job.quiet_until:
            job = self._random.choice(self._jobs)
        job.quiet_until = None
        return record_of(self._event_of(job, now), self._topics)

    def _event_of(self, job: Job, now: datetime) -> Event:
        common: dict[str, Any] = {"event_id": self._id(), "occurred_at": now, "pipeline": job.name}
        draw = self._random.random()
        if not job.open or (draw < 0.03 and len(job.open) < 3):
            hangs = job.slow and self._random.random() < HANGING
            job.open.append((self._id(), now, LIMIT + 3 * self._random.random() if hangs else 0.0))
            return RunStarted(run_id=job.open[-1][0], **common)
        run_id, started_at, least = job.open[0]
        if draw > 0.8 or (now - started_at).total_seconds() < least:
            return RunHeartbeat(run_id=run_id, inserts=int(job.rows * draw), **common)
        if 0.7 < draw < 0.74:
            job.loads += 1
            back = 1 if draw < 0.71 else 0
            return WatermarkAdvanced(watermark=str(job.loads - 3 * back), kind="integer", run_id=run_id, **common)
        del job.open[0]
        return self._end(job, run_id, started_at, common)

    def _end(self, job: Job, run_id: UUID, started_at: datetime, common: dict[str, Any]) -> RunEnded:
        random = self._random
        if job.stale and random.random() < 0.2:
            job.quiet_until = common["occurred_at"].replace(microsecond=0) + QUIET
        failed, odd = random.random() < 0.003, random.random() < 0.003
        seconds = job.seconds * random.lognormvariate(0, 0.1)
        if job.slow:
            seconds = (common["occurred_at"] - started_at).total_seconds()
        rows = max(0, int(job.rows * random.lognormvariate(0, 0.1) * (random.choice((0.0, 30.0)) if odd else 1)))
        return RunEnded(
            run_id=run_id, status="failed" if failed else "succeeded", started_at=started_at,
            duration_ms=int(seconds * 1000), inserts=rows, total_rows=rows,
            error=RunError(type="SourceGone", message="the source is gone") if failed else None, **common,
        )  # fmt: skip

    def _id(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)


def record_of(event: Event, topics: Topics) -> Record:
    """An event as a job sends it."""
    topic, key, value = topics.runs, event.pipeline.encode(), encode(event)
    match event:
        case WatermarkAdvanced():
            key = watermark_key(event.pipeline, event.dataset)
            return Record(topics.watermarks, key, value, f"watermark:{event.event_id}")
        case RunStarted():
            return Record(topic, key, value, f"started:{event.run_id}")
        case RunEnded():
            return Record(topic, key, value, f"ended:{event.event_id}")
        case PipelineDeclared():
            return Record(topics.pipelines, key, value, f"declared:{event.event_id}")
    return Record(topic, key, value, f"other:{event.event_id}")
