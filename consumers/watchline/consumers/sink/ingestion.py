"""Writing `ingestion`, how far each partition has been read, and `ingestion_hours`, how many events an hour brought."""

from __future__ import annotations

import asyncpg

from watchline.consumers.sink.statements import rows
from watchline.schemas.records import EPOCH_SHIFT, PulseRecord

# A pulse that is read again counts nothing twice: the hours grow only with the pulses that move their partition.
STORE = """
with told as (
    select (revision >> $2)::integer as log_epoch, partition, at as pulse_at, revision, events
    from jsonb_to_recordset($1::jsonb) as one
        (revision bigint, partition integer, at timestamptz, events bigint)
), fresh as (
    select t.* from told t left join ingestion i using (log_epoch, partition)
    where t.revision > coalesce(i.revision, -1)
), counted as (
    insert into ingestion_hours (hour, events)
    select date_trunc('hour', pulse_at), sum(events) from fresh group by 1 order by 1
    on conflict (hour) do update set events = ingestion_hours.events + excluded.events
)
insert into ingestion (log_epoch, partition, pulse_at, revision)
select distinct on (log_epoch, partition) log_epoch, partition, pulse_at, revision from fresh
order by log_epoch, partition, revision desc
on conflict (log_epoch, partition) do update
    set pulse_at = excluded.pulse_at, revision = excluded.revision, stored_at = now()
    where excluded.revision > ingestion.revision
"""


async def store_pulses(connection: asyncpg.Connection, records: list[PulseRecord]) -> None:
    """Store how far each partition has been read, and add what was read to its hour."""
    if records:
        by_place = {(one.partition, one.revision): one for one in records}  # one that stands twice counts once
        told = rows(one.model_dump(mode="json") for one in by_place.values())
        await connection.execute(STORE, told, EPOCH_SHIFT)
