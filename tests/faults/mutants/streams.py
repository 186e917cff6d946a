"""Bugs for the streams."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, cast

from faust.types.tuples import Message

from watchline.streams import shell, watermarks
from watchline.streams.intake import Homes, Intake, sort_out
from watchline.streams.shell import Shell
from watchline.streams.transport.healing import Healer
from watchline.streams.transport.table import StateTable


def acknowledge_on_exception() -> None:
    """A batch whose fold raised counts as done."""

    async def absorb(self: Any, events: Any) -> None:
        try:
            await self._finish(events)
        except Exception:  # noqa: BLE001 - the bug
            self._folder.undo()

    cast(Any, Shell).absorb = absorb


def commit_before_the_changelog() -> None:
    """A batch counts as done while its rows are still on their way."""
    right = StateTable.put_many
    tasks: list[Any] = []

    async def put_many(self: Any, by_partition: Mapping[int, Any]) -> list[asyncio.Future[None]]:
        async def later() -> None:
            await asyncio.sleep(2.0)
            await asyncio.gather(*await right(self, by_partition))

        self._keep((partition, key, row) for partition, rows in by_partition.items() for key, row in rows.items())
        tasks.append(asyncio.ensure_future(later()))
        return []

    cast(Any, StateTable).put_many = put_many


def key_mismatch_ignored() -> None:
    """A record under another pipeline's key is judged where it lies."""

    def sort_out_in_place(messages: Iterable[Message], *, homes: Any, **more: Any) -> Intake:
        whole = Intake()
        for message in messages:
            part = sort_out([message], homes=cast(Homes, Lying(message)), **more)
            for partition, taken in part.taken.items():
                whole.taken.setdefault(partition, []).extend(taken)
            whole.dead.extend(part.dead)
        return whole

    cast(Any, shell).sort_out = sort_out_in_place


class Lying:
    """Says of every pipeline that it is at home where its record lies."""

    def __init__(self, message: Message) -> None:
        self._place = cast(bytes, message.key), message.partition

    def of(self, pipeline: str) -> tuple[bytes, int]:
        return self._place


def watermark_goes_back() -> None:
    """A lower watermark replaces a higher one."""
    cast(Any, watermarks)._goes_back = lambda mark, event: False
    cast(Any, watermarks)._advances = lambda mark, event: True


def skip_dedupe() -> None:
    """An event that comes twice counts twice."""
    cast(Any, watermarks).holds_digest = lambda digests, digest: False


def late_rows_count() -> None:
    """The last row of a changelog is taken for the newest one."""
    cast(Any, StateTable).late = lambda self, key, row: False


def late_rows_stay_last() -> None:
    """Nobody writes a row again that an older one stands behind."""

    async def look(self: Healer) -> None:
        pass

    cast(Any, Healer).look = look
