"""A sink's writer on a real database, and what its tables hold afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from sinking.records import Sent, after, sent
from watchline.consumers.sink.incoming import read
from watchline.consumers.sink.offsets import Advance
from watchline.consumers.sink.writer import Batch, Writer
from watchline.schemas.records import SinkRecord

PLACE = ("t.state", 0)
DEADLINE_SECONDS = 20.0
# What a table holds in order, without what tells when it was written.
WRITTEN = {"stored_at", "updated_at", "first_seen_at", "created_at", "next_attempt_at", "alert_id", "dead_letter_id"}
ORDERS = {
    "pipelines": "pipeline",
    "pipeline_versions": "pipeline, config_hash",
    "pipeline_types": "type",
    "runs": "run_id",
    "run_ancestry": "descendant, ancestor",
    "watermarks": "pipeline, dataset",
    "watermark_history": "event_id",
    "anomalies": "anomaly_id",
    "expected_runs": "pipeline, due_at",
    "incidents": "incident_id",
    "commands": "event_id",
    "anomaly_feedback": "pipeline, run_id, metric",
    "incident_events": "incident_id, transition_no",
    "datasets": "dataset_id",
    "lineage_edges": "pipeline, source, target",
    "alert_outbox": "incident_id, transition_no",
    "dead_letters": "source_topic, source_partition, source_offset",
}


class Sinking:
    """A writer that owns one partition and stores what it is given."""

    def __init__(self, dsn: str, connection: asyncpg.Connection) -> None:
        self.dsn = dsn
        self.connection = connection  # the test's own, to look and to meddle
        self.writer = Writer(dsn, log_epoch=0, alert_max_age=timedelta(days=1), command_timeout=10)
        self.fence = 0

    async def join(self) -> None:
        self.fence = (await self.writer.claim([PLACE], owner="test"))[PLACE].fence

    async def store(self, *records: SinkRecord | bytes | None, first: int = 0, now: datetime | None = None) -> int:
        """Store the records as one batch; `now` is when they are read (an hour after noon)."""
        return await self.store_sent(sent(*records, first=first), now=now)

    async def store_sent(self, batch: Sequence[Sent], *, now: datetime | None = None) -> int:
        return await self.writer.store(batch_of(batch, fence=self.fence, now=now or after(hours=1)))

    async def rows(self, table: str) -> list[dict[str, Any]]:
        found = await self.connection.fetch(f"select * from {table} order by {ORDERS[table]}")
        return [{name: value for name, value in row.items() if name not in WRITTEN} for row in found]

    async def everything(self) -> dict[str, list[dict[str, Any]]]:
        return {table: await self.rows(table) for table in ORDERS}

    async def next_offset(self) -> int | None:
        found: int | None = await self.connection.fetchval("select next_offset from sink_offsets where partition = 0")
        return found

    async def clear(self) -> None:
        await self.connection.execute(f"truncate {', '.join(ORDERS)} cascade")


def batch_of(batch: Sequence[Sent], *, fence: int, now: datetime) -> Batch:
    items = [read(one, now=now, log_epoch=0) for one in batch]
    return Batch(items, [Advance(*PLACE, batch[-1].offset + 1, fence)], read_at=now)


async def waiting_for_locks(connection: asyncpg.Connection, expected: int) -> None:
    """Return when so many sessions of this database wait for a lock."""
    count = (
        "select count(distinct pid) from pg_locks join pg_stat_activity using (pid) "
        "where not granted and datname = current_database()"
    )
    async with asyncio.timeout(DEADLINE_SECONDS):
        while await connection.fetchval(count) < expected:
            await asyncio.sleep(0.01)
