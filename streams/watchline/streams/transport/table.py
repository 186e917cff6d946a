"""A table of opaque rows, written in batches."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, cast

import structlog
from aiokafka.errors import KafkaError
from faust.tables.table import Table
from faust.types import TP, EventT
from faust.types.tuples import Message
from mode import Service

from watchline.streams.transport.healing import Healer, Trail
from watchline.streams.transport.offsets import SafeOffsets
from watchline.streams.transport.producer import SentBatch, raw_producer

log = structlog.get_logger()
LOOK_SECONDS = 5.0
ENDS_EVERY = 6  # looks

Rows = Mapping[bytes, bytes | None]


class StateTable(Table[bytes, bytes]):
    """A table of bytes in memory whose rows become visible when their changelog record is durable.

    Defects of the stock table: `table[key] = row` works only for one current event, costs about 80 µs a
    record, and shows a row that a failed write never made durable; a tombstone and a falsy value of one key
    in one batch end as a deletion; and after each rebalance the whole changelog since the last recovery is
    read again, with rows going back in time meanwhile.

    A worker that slept past its session may write a row that it made before: nothing fences it. With `age_of`, which
    tells how much of the log a row has absorbed, such a row replaces no newer one when the changelog is read, and the
    owner of the partition writes the newer one again behind it (see `Healer`).
    """

    age_of: Callable[[bytes], int] | None = None
    trails: defaultdict[int, Trail]
    healer: Healer

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.trails = defaultdict(Trail)
        self.healer = Healer(self)
        super().__init__(*args, **kwargs)

    async def put_many(self, by_partition: Mapping[int, Rows]) -> list[asyncio.Future[None]]:
        """Write rows (None deletes) to the changelog, one run of batches per partition; returns one future
        per partition.

        A future resolves when the broker has acknowledged the partition's rows, which are in `data` from
        then on; it raises what the broker or aiokafka raises, and `data` is as before.
        """
        acknowledgements: list[asyncio.Future[None]] = []
        for partition, rows in by_partition.items():
            async with self.trails[partition].turn:
                acknowledgements.append(await self.write(partition, rows, keep=rows))
        return acknowledgements

    async def write(self, partition: int, rows: Rows, *, keep: Rows) -> asyncio.Future[None]:
        """Write `rows` to the changelog, by whoever has the turn; `keep` are in `data` once they are acknowledged."""
        records = [(key, row, None) for key, row in rows.items()]
        sent = await raw_producer(self.app).send_batches(self.changelog_topic_name, partition, records)
        answer = asyncio.ensure_future(self._store_when_durable(partition, keep, sent))
        unanswered = self.trails[partition].unanswered
        unanswered.add(answer)
        answer.add_done_callback(unanswered.discard)
        return answer

    async def _store_when_durable(self, partition: int, rows: Rows, sent: list[SentBatch]) -> None:
        metadata = await asyncio.gather(*(future for future, _ in sent))
        self._keep((partition, key, row) for key, row in rows.items())
        for written, (_, records) in zip(metadata, sent, strict=True):
            self.trails[partition].wrote(written.offset, records)
            self._note_offset(partition, written.offset, records)

    def _note_offset(self, partition: int, offset: int, count: int) -> None:
        """What we wrote ourselves need not be read again when a rebalance leaves the partition with us.

        Unless there is a gap before it: somebody else wrote while we slept, and that must be read.
        """
        recovery = self.app.tables.recovery  # type: ignore[attr-defined]  # not in the abstract TableManagerT
        tp = TP(self.changelog_topic_name, partition)
        seen = recovery.active_offsets.get(tp)
        if partition in self.owned() and tp in recovery.active_tps and seen is not None and seen + 1 == offset:
            recovery.active_offsets[tp] = offset + count - 1

    def _keep(self, changes: Iterable[tuple[int, bytes, bytes | None]]) -> None:
        data, partitions = self._stores()
        for partition, key, row in changes:
            if row is None:
                data.pop(key, None)
                partitions.pop(key, None)
            else:
                data[key] = row
                partitions[key] = partition  # lets Faust purge the rows of partitions that we lost

    def _stores(self) -> tuple[dict[bytes, bytes], dict[bytes, int]]:
        store = cast(Any, self.data)
        return store.data, store._key_partition

    def apply_changelog_batch(self, batch: Iterable[EventT[Any]]) -> None:
        """Apply changelog records in their order, without those that are older than what is held."""
        self._keep(self._current(event.message for event in batch))

    def _current(self, messages: Iterable[Message]) -> Iterator[tuple[int, bytes, bytes | None]]:
        for message in messages:
            key, row, stale = cast(bytes, message.key), message.value, self.trails[message.partition].stale
            if self.late(key, row):
                stale.add(key)
            else:
                stale.discard(key)
                yield message.partition, key, row

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        """From here on whatever follows what was read is ours."""
        await super().on_recovery_completed(active_tps, standby_tps)
        recovery = self.app.tables.recovery  # type: ignore[attr-defined]  # not in the abstract TableManagerT
        for tp in active_tps:
            read = recovery.active_offsets.get(tp)
            self.trails[tp.partition].restart(None if read is None else read + 1)

    @Service.task
    async def _heal(self) -> None:
        for number in count(1):
            await self.sleep(LOOK_SECONDS)
            if self.should_stop:
                return
            try:
                await self.healer.look(at_ends=number % ENDS_EVERY == 0)
            except (KafkaError, TimeoutError) as error:  # it is looked at again
                log.warning("changelog.unhealed", topic=self.changelog_topic_name, reason=repr(error))
            except Exception:  # likewise: a worker does not end because of it
                log.exception("changelog.unhealed", topic=self.changelog_topic_name)

    def late(self, key: bytes, row: bytes | None) -> bool:
        """Whether a row of the changelog is older than the one that is held."""
        return self._lead(key, row) < 0

    def ahead(self, key: bytes, row: bytes | None) -> bool:
        """Whether a row of the changelog is newer than the one that is held."""
        return self._lead(key, row) > 0

    def _lead(self, key: bytes, row: bytes | None) -> int:
        held = self._stores()[0].get(key)
        if self.age_of is None or row is None or held is None:
            return 0
        return self.age_of(row) - self.age_of(held)

    def owned(self) -> frozenset[int]:
        """Partitions whose rows are ours, to be asked right before a write.

        A rebalance takes them away once batches in hand have ended, or have been given up.
        """
        if cast(SafeOffsets, self.app.consumer).moving:
            return frozenset()
        topic = self.changelog_topic_name
        return frozenset(tp.partition for tp in self.app.assignor.assigned_actives() if tp.topic == topic)

    def rows(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Partition, key and row of everything held."""
        data, partitions = self._stores()
        for key, row in list(data.items()):
            yield partitions[key], key, row

    def rows_of(self, partition: int, keys: Iterable[bytes]) -> dict[bytes, bytes | None]:
        """The rows of those of the keys that `partition` holds."""
        data, partitions = self._stores()
        return {key: data[key] for key in keys if key in data and partitions[key] == partition}
