"""The sink's write path without Kafka: records as it has them, handed to its writer in batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from watchline.consumers.sink.incoming import Incoming
from watchline.consumers.sink.offsets import Advance
from watchline.consumers.sink.reading import decode_all, reading_ahead
from watchline.consumers.sink.run_rows import row_from
from watchline.consumers.sink.writer import Batch, Writer
from watchline.schemas.records import RunRecord

PLACE = ("bench.state", 0)
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Raw:
    """A Kafka record as the consumer hands it over."""

    value: bytes
    offset: int
    topic: str = "bench.state"
    partition: int = 0
    key: bytes = b"orders"
    timestamp: int = 1_796_040_000_000
    headers: tuple[tuple[str, bytes | None], ...] = ()


def raws_of(records: Iterable[RunRecord]) -> list[Raw]:
    """The records as Kafka has them."""
    return [Raw(record.model_dump_json(exclude_none=True).encode(), offset) for offset, record in enumerate(records)]


def decoded(records: Iterable[RunRecord]) -> list[Incoming]:
    """The records as the sink has them after decoding."""
    return [Incoming(Raw(b"", offset), row_from(record)) for offset, record in enumerate(records)]


class WritePath:
    """A writer that owns one partition, and stores records in batches of `batch`."""

    def __init__(self, dsn: str, *, batch: int) -> None:
        self.batch = batch
        self._writer = Writer(dsn, log_epoch=0, alert_max_age=timedelta(days=1))

    async def open(self) -> None:
        self._fence = (await self._writer.claim([PLACE], owner="bench"))[PLACE].fence

    async def close(self) -> None:
        await self._writer.close()

    async def store(self, items: list[Incoming]) -> None:
        """From decoded records to rows."""
        for first in range(0, len(items), self.batch):
            await self._write(items[first : first + self.batch])

    async def store_bytes(self, raws: list[Raw]) -> None:
        """From the bytes of the records to rows, each batch decoded while the one before is stored."""
        fetches = iter([raws[first : first + self.batch] for first in range(0, len(raws), self.batch)])

        async def read_next() -> list[Incoming] | None:
            fetched = next(fetches, None)
            return None if fetched is None else await decode_all(fetched, now=NOON, log_epoch=0)

        async with reading_ahead(read_next) as ahead:
            while (items := await ahead.take()) is not None:
                ahead.begin()
                await self._write(items)

    async def _write(self, items: list[Incoming]) -> None:
        place = Advance(*PLACE, items[-1].source.offset + 1, self._fence)
        refused = await self._writer.store(Batch(items, [place], read_at=NOON))
        assert refused == 0
