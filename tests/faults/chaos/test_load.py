"""The load is made of what jobs send, and follows from its seed."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from faults.chaos.load import Load, Mode, Record
from watchline.schemas import BadEvent, Topics, decode

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
COUNT = 1200


def take(seed: int, *modes: Mode) -> list[Record]:
    load = Load(seed, Topics())
    load.modes.update(modes)
    records = [one for second in range(COUNT // 10) for one in load.take(10, NOON + timedelta(seconds=second / 50))]
    load.modes.clear()
    return records + load.take(0, NOON)


def readable(record: Record) -> bool:
    try:
        decode(record.value, now=NOON + timedelta(hours=1))
    except BadEvent:
        return False
    return True


def test_the_same_seed_makes_the_same_records() -> None:
    assert take(1) == take(1)
    assert take(1) != take(2)


def test_every_event_can_be_read_and_every_kind_is_there() -> None:
    records = take(1)

    assert all(map(readable, records))
    assert {one.identity.split(":")[0] for one in records} == {"started", "other", "ended", "watermark"}
    assert len({one.identity for one in records}) == len(records) == COUNT


def test_rubbish_comes_between_events_and_cannot_be_read() -> None:
    records = take(1, "poison")

    rubbish = [one for one in records if one.identity.startswith("rubbish")]
    assert len(rubbish) > COUNT / 20
    assert not any(map(readable, rubbish))
    assert all(readable(one) for one in records if one not in rubbish)


def test_duplicates_are_the_same_bytes_again() -> None:
    records = take(1, "duplicates")

    counts = Counter(one.identity for one in records)
    assert max(counts.values()) > 1
    assert len({(one.identity, one.value) for one in records}) == len(counts) == COUNT


def test_a_shuffled_window_loses_nothing() -> None:
    shuffled, even = take(1, "shuffled windows"), take(1)

    assert shuffled != even
    assert Counter(shuffled) == Counter(even)
