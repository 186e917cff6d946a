"""A table of opaque rows, written in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from faust.tables.table import Table
from faust.types import TP, EventT

from watchline.streams.transport.offsets import SafeOffsets
from watchline.streams.transport.producer import SentBatch, raw_producer

Rows = Mapping[bytes, bytes | None]


class StateTable(Table[bytes, bytes]):
    """A table of bytes in memory whose rows become visible when their changelog record is durable.

    Defects of the stock table: `table[key] = row` works only for one current event, costs about 80 µs a
    record, and shows a row that a failed write never made durable; a tombstone and a falsy value of one key
    in one batch end as a deletion; and after each rebalance the whole changelog since the last recovery is
    read again, with rows going back in time meanwhile.
    """

    async def put_many(self, by_partition: Mapping[int, Rows]) -> list[asyncio.Future[None]]:
        """Write rows (None deletes) to the changelog, one run of batches per partition; returns one future
        per partition.

        A future resolves when the broker has acknowledged the partition's rows, which are in `data` from
        then on; it raises what the broker or aiokafka raises, and `data` is as before.
        """
        producer = raw_producer(self.app)
        acknowledgements: list[asyncio.Future[None]] = []
        for partition, rows in by_partition.items():
            records = [(key, row, None) for key, row in rows.items()]
            sent = await producer.send_batches(self.changelog_topic_name, partition, records)
            acknowledgements.append(asyncio.ensure_future(self._store_when_durable(partition, rows, sent)))
        return acknowledgements

    async def _store_when_durable(self, partition: int, rows: Rows, sent: list[SentBatch]) -> None:
        metadata = await asyncio.gather(*(future for future, _ in sent))
        self._keep((partition, key, row) for key, row in rows.items())
        if metadata:
            self._note_offset(partition, metadata[-1].offset + sent[-1][1] - 1)

    def _note_offset(self, partition: int, offset: int) -> None:
        """What we wrote ourselves need not be read again when a rebalance leaves the partition with us."""
        recovery = self.app.tables.recovery  # type: ignore[attr-defined]  # not in the abstract TableManagerT
        tp = TP(self.changelog_topic_name, partition)
        seen = recovery.active_offsets.get(tp)
        if partition in self.owned() and tp in recovery.active_tps and (seen is None or seen < offset):
            recovery.active_offsets[tp] = offset

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
        """Apply changelog records in their order."""
        messages = (event.message for event in batch)
        self._keep((message.partition, cast(bytes, message.key), message.value) for message in messages)

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
