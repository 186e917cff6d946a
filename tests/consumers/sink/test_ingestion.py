"""What becomes of the pulses that the streams tell of."""

from __future__ import annotations

from typing import Any

from sinking.records import after
from sinking.tables import Sinking
from watchline.schemas.records import PulseRecord, revision_of


def pulse(minute: int, *, partition: int = 0, events: int = 10, epoch: int = 0) -> PulseRecord:
    return PulseRecord(
        revision=revision_of(epoch, 100 * minute), partition=partition, at=after(minutes=minute), events=events,
    )  # fmt: skip


async def hours(sinking: Sinking) -> list[Any]:
    return [row["events"] for row in await sinking.connection.fetch("select * from ingestion_hours order by hour")]


async def test_each_partition_stands_at_its_newest_pulse(sinking: Sinking) -> None:
    await sinking.store(pulse(2), pulse(1), pulse(3, partition=1))
    await sinking.store(pulse(1))

    read = await sinking.connection.fetch("select partition, pulse_at from reporting.ingestion order by 1")
    assert [tuple(row) for row in read] == [(0, after(minutes=2)), (1, after(minutes=3))]


async def test_the_events_of_an_hour_are_counted_once_however_often_they_are_told(sinking: Sinking) -> None:
    await sinking.store(pulse(1), pulse(2), pulse(1))
    await sinking.store(pulse(2), pulse(1))
    await sinking.store(pulse(61, events=7), pulse(3, partition=1))

    assert await hours(sinking) == [30, 7]


async def test_a_new_log_counts_on(sinking: Sinking) -> None:
    await sinking.store(pulse(5))

    await sinking.store(pulse(1, epoch=1))

    assert await hours(sinking) == [20]
    read = await sinking.connection.fetch("select partition, pulse_at from reporting.ingestion")
    assert [tuple(row) for row in read] == [(0, after(minutes=1))]


async def test_a_pulse_is_no_pipeline(sinking: Sinking) -> None:
    await sinking.store(pulse(1))

    assert await sinking.rows("pipelines") == []
