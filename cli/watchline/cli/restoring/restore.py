"""The order of the work: look, read the log, then one pipeline after the other from Postgres into the changelog."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from watchline.cli.restoring.changelog import Held, open_writer, read_held, rewind
from watchline.cli.restoring.history import in_order
from watchline.cli.restoring.remains import Remains, find_remains, read_remains
from watchline.cli.restoring.safety import (
    Doubt,
    check_epoch,
    check_places,
    count_unstored,
    count_workers,
    find_newer,
    refuse,
)
from watchline.cli.restoring.stored import COUNT, PIPELINES, Extent, past_of
from watchline.schemas import PipelineDeclared
from watchline.schemas.records import revision_of
from watchline.streams.declarations import UNDECLARED, Declared, fold_declaration, read_declaration
from watchline.streams.effects import Effects
from watchline.streams.instants import to_micros
from watchline.streams.intake import Homes
from watchline.streams.rows import DeclarationRow, encode_row
from watchline.streams.seeding import Cut, Seed, Standing
from watchline.streams.settings import StreamsSettings

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Restored:
    """What was made of one pipeline: the row, and what it came from."""

    pipeline: str
    partition: int
    runs: int
    going_on: int
    baselines: int
    incidents: int
    row: bytes


@dataclass(slots=True)
class Restoration:
    """What is known before the first pipeline is read."""

    connection: asyncpg.Connection[Any]
    settings: StreamsSettings
    remains: Remains
    held: Held
    pipelines: int
    doubts: list[Doubt]

    async def read_log(self, advance: Advance) -> None:
        """Note which events the log will bring; `advance` hears of the records read."""
        settings = self.settings
        await read_remains(settings.kafka, settings.topics, self.remains, self.connection, advance)

    async def pipelines_restored(
        self, extent: Extent, *, now: datetime, looked_at: Callable[[], None]
    ) -> AsyncIterator[Restored]:
        """Every pipeline of whose past the log no longer tells all, by name; one at a time is in memory."""
        homes = Homes(self.settings.partitions)
        for pipeline, declaration, declared_at in await self.connection.fetch(PIPELINES):
            partition = homes.of(pipeline)[1]
            declared = read_declared(declaration, declared_at)
            restored = await self._restore(pipeline, partition, declared, extent, now=now)
            if restored is not None:
                yield restored
            looked_at()

    async def write(self, found: AsyncIterator[Restored]) -> AsyncIterator[Restored]:
        """Rewind the workers, then write each row: a crash in between leaves what a plain replay would find."""
        settings = self.settings
        refuse(await count_workers(settings), (), force=False)  # reading the log took a while
        await rewind(settings.kafka, settings.topics)
        async with open_writer(settings.kafka, settings.topics) as writer:
            for partition in self.held.clocks:
                await writer.forget_clock(partition)
            async for one in found:
                key, begin = one.pipeline.encode(), self.remains.begins[one.partition]
                newer = self.held.absorbed[one.partition].get(key, -1) >= begin
                await writer.write(one.partition, key, one.row, replaces=newer)
                yield one

    async def _restore(
        self, pipeline: str, partition: int, declared: Declared, extent: Extent, *, now: datetime
    ) -> Restored | None:
        begin, at = self.remains.begins[partition], self.remains.first_at.get(partition, now)
        floor = revision_of(self.settings.log_epoch, begin - 1)
        past = await past_of(self.connection, pipeline, extent, floor=floor, at=at)
        going_on, runs = await past.going_on(), 0
        seed = Seed(pipeline, declared, now=to_micros(now))
        async for event in in_order(pipeline, past.ended(), going_on, await past.commands()):
            seed.take([event])
            runs += event.event_type == "run.ended"
        incidents, closed = await past.incidents(), await past.closed_by_hand_at()
        if not runs and not going_on and not incidents:
            return None
        standing = Standing(
            incidents,
            frozenset(run.run_id for run in going_on if run.overdue),
            frozenset(run.run_id for run in going_on if run.status == "lost"),
            None if closed is None else to_micros(closed),
        )
        row = seed.row_at(Cut(partition, begin, to_micros(at)), standing)
        return Restored(
            pipeline, partition, runs, len(going_on), len(row.baselines), len(row.incidents), encode_row(row)
        )  # fmt: skip


async def prepare(connection: asyncpg.Connection[Any], settings: StreamsSettings) -> Restoration:
    """Look at topics, log, changelog and sink; Misconfigured when they do not fit together."""
    await check_places(settings)
    remains = await find_remains(settings.kafka, settings.topics)
    await check_epoch(connection, settings, remains)
    held = await read_held(settings.kafka, settings.topics)
    doubts = [find_newer(held, remains), await count_unstored(connection, settings)]
    pipelines = await connection.fetchval(COUNT)
    return Restoration(connection, settings, remains, held, pipelines, [doubt for doubt in doubts if doubt])


def read_declared(declaration: str | None, declared_at: datetime | None) -> Declared:
    """The limits and rules in force, as Postgres has them."""
    if declaration is None or declared_at is None:
        return UNDECLARED
    row = DeclarationRow(0, 0)
    fold_declaration(row, PipelineDeclared.model_validate_json(declaration), epoch=0, effects=Effects())
    return read_declaration(row)
