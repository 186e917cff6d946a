"""Bugs for the sink."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import count
from typing import Any, cast

import msgspec

from watchline.consumers.sink import dead_letters, incidents, pipelines, service, writer
from watchline.consumers.sink.consuming import Claims
from watchline.consumers.sink.offsets import advance
from watchline.consumers.sink.reading import decode_all
from watchline.consumers.sink.run_rows import RunRow
from watchline.schemas.failpoints import failpoint


def commit_before_the_rows() -> None:
    """The offsets are moved in a transaction of their own, ahead of the rows."""

    async def store(self: Any, batch: writer.Batch) -> int:
        connection = await self._open()
        await advance(connection, batch.advances, log_epoch=self._log_epoch)
        async with connection.transaction():
            refused: int = await self._store_items(connection, batch.items, batch.read_at)
            failpoint("P3")
            return refused

    cast(Any, writer.Writer).store = store


def offsets_off_by_one() -> None:
    """The sink believes to be one record further than it is."""
    right = Claims.advances

    def advances(self: Claims, fetched: Any) -> Any:
        return [replace(one, next_offset=one.next_offset + 1) for one in right(self, fetched)]

    cast(Any, Claims).advances = advances


def drop_the_bytes_of_dead_letters() -> None:
    """A dead letter is kept without what it was."""
    cast(Any, dead_letters).decoded = lambda text: b""


def keep_repeated_dead_letters() -> None:
    """A dead letter that comes twice is kept twice."""
    right, log = dead_letters.row_of, count()

    def row_of(letter: Any, sqlstate: str | None) -> Any:
        row = list(right(letter, sqlstate))
        row[6] = next(log)  # the epoch: its place is never one that was seen before
        return tuple(row)

    cast(Any, dead_letters).row_of = row_of


def revision_guard_removed() -> None:
    """What was said earlier replaces what was said later."""
    cast(Any, incidents).INCIDENTS = incidents.INCIDENTS.rpartition(" where ")[0]


def naive_time() -> None:
    """Times lose their zone between Kafka and Postgres."""
    right = decode_all

    async def decode_naively(*arguments: Any, **more: Any) -> Any:
        return [
            type(item)(item.source, without_zone(item.record) if isinstance(item.record, RunRow) else item.record)
            for item in await right(*arguments, **more)
        ]

    cast(Any, service).decode_all = decode_naively


def without_zone(run: RunRow) -> RunRow:
    """Times without a zone are taken for local ones, by asyncpg too."""
    times = {name: getattr(run, name) for name in ("started_at", "ended_at")}
    local = {name: at.replace(tzinfo=None).astimezone() for name, at in times.items() if at is not None}
    return msgspec.structs.replace(run, **local)


def rows_before_their_offsets() -> None:
    """The rows are stored in a transaction of their own, a moment ahead of the offsets."""

    async def store(self: Any, batch: writer.Batch) -> int:
        connection = await self._open()
        async with connection.transaction():
            refused: int = await self._store_items(connection, batch.items, batch.read_at)
        await asyncio.sleep(0.1)
        await advance(connection, batch.advances, log_epoch=self._log_epoch)
        return refused

    cast(Any, writer.Writer).store = store


def lose_alerts() -> None:
    """An incident is stored, and nobody is to hear of it."""
    cast(Any, incidents).OUTBOX = incidents.OUTBOX.replace("on conflict do nothing", "limit 0 on conflict do nothing")


def unsorted_upserts() -> None:
    """Rows are written in the order in which they came."""
    cast(Any, pipelines).DATASETS = pipelines.DATASETS.replace(" order by dataset_id", "")
