"""Sorting out a batch: what is at home, what must move, what nobody can read."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from itertools import count
from typing import Any
from uuid import uuid4

import orjson
import pytest
from faust.types.tuples import TP, ConsumerMessage, Message

from folds.log import KEY, NOON, ended, started
from watchline.schemas import PipelineDeclared, RunEnded, RunStarted, WatermarkAdvanced, encode
from watchline.streams.intake import Homes, Intake, Misplaced, sort_out
from watchline.streams.pulses import PartitionClock, decode_pulse, encode_pulse

HOMES = Homes(4)
HOME = HOMES.of("orders_daily")[1]


def message(
    value: bytes | None, key: bytes | None = KEY, *, partition: int = HOME, offset: int = 0, headers: Any = None
) -> Message:
    return ConsumerMessage("t.runs", partition, offset, 1.5, 0, headers, key, value, None, tp=TP("t.runs", partition))


def sort(*messages: Message) -> Intake:
    return sort_out(messages, homes=HOMES, expects=(RunStarted, RunEnded), now=NOON, epoch=3)


def test_events_of_one_partition_keep_their_order() -> None:
    intake = sort(message(encode(started("a")), offset=4), message(encode(ended("a")), offset=5))

    assert [(taken.offset, taken.event and taken.event.event_type) for taken in intake.taken[HOME]] == [
        (4, "run.started"),
        (5, "run.ended"),
    ]


@pytest.mark.parametrize("key", [None, b"", b"other", b"\xff\xfe\x00key", b'"orders_daily"'])
def test_a_record_under_another_key_is_sent_home_with_its_headers(key: bytes | None) -> None:
    headers = [("a", b"1"), ("a", b"2"), ("", b"")]

    intake = sort(message(encode(started("a")), key, headers=headers))

    assert intake.taken[HOME] == []
    assert intake.misplaced == [Misplaced(HOME, KEY, encode(started("a")), headers)]


def test_a_record_in_a_foreign_partition_is_sent_home() -> None:
    intake = sort(message(encode(started("a")), partition=(HOME + 1) % 4))

    assert [(record.partition, record.key) for record in intake.misplaced] == [(HOME, KEY)]


def test_a_dead_letter_keeps_bytes_key_headers_and_place() -> None:
    intake = sort(message(b"\xff{", b"\x00k", offset=7, headers=[("h", b"\xff")]))

    (letter,) = intake.dead
    assert b64decode(letter.value or "") == b"\xff{"
    assert b64decode(letter.key or "") == b"\x00k"
    assert [(name, b64decode(value or "")) for name, value in letter.headers] == [("h", b"\xff")]
    assert (letter.source_topic, letter.source_partition, letter.source_offset) == ("t.runs", HOME, 7)
    assert (letter.source_timestamp_ms, letter.log_epoch, letter.reason) == (1500, 3, "invalid_utf8")


def test_bad_records_are_counted_among_those_of_producers_only() -> None:
    pulse = message(encode_pulse(1_796_040_000_000_000), None)

    intake = sort(pulse, message(encode(started("a"))), pulse, message(b"{"), message(encode(started("a")), b"other"))

    assert (intake.records, intake.bad) == (3, [(1, "invalid_json")])


def test_null_and_empty_are_told_apart() -> None:
    null, empty = sort(message(None), message(b"", b"")).dead

    assert (null.value, null.reason) == (None, "null_value")
    assert (empty.value, empty.key, empty.reason) == ("", "", "empty_value")


def test_a_huge_key_is_a_dead_letter() -> None:
    intake = sort(message(encode(started("a")), b"k" * 300_000))

    assert [letter.reason for letter in intake.dead] == ["too_large"]


@pytest.mark.parametrize(
    "fields",
    [{"anomaly_rules": [{"metric": "a"}] * 17_000}, {"sources": [{"name": "a"}] * 19_000}],
    ids=["rules", "datasets"],
)
def test_a_declaration_that_grows_beyond_a_record_is_a_dead_letter(fields: dict[str, Any]) -> None:
    plain = PipelineDeclared(event_id=started("a").event_id, occurred_at=NOON, pipeline="orders_daily")
    raw = orjson.dumps(orjson.loads(encode(plain)) | fields)

    intake = sort_out([message(raw)], homes=HOMES, expects=(PipelineDeclared,), now=NOON, epoch=0)

    assert [letter.reason for letter in intake.dead] == ["too_large"]
    assert len(intake.dead[0].value or "") > len(raw)


def test_a_large_event_that_does_not_grow_is_taken() -> None:
    event = started("a", metadata={"notes": ["x" * 8000] * 30})

    assert len(sort(message(encode(event))).taken[HOME]) == 1


def test_an_event_of_another_topic_is_a_dead_letter() -> None:
    intake = sort_out([message(encode(ended("a")))], homes=HOMES, expects=(RunStarted,), now=NOON, epoch=0)

    assert [letter.reason for letter in intake.dead] == ["unknown_event_type"]


def test_a_pulse_is_read_back_and_what_only_looks_like_one_is_not() -> None:
    intake = sort(message(encode_pulse(1_796_040_000_000_000), None), message(b'{"pulse":"soon"}', None))

    assert [taken.pulse for taken in intake.taken[HOME]] == [1_796_040_000_000_000]
    assert len(intake.dead) == 1
    assert decode_pulse(encode_pulse(12_345_678)) == 12_345_678


def test_a_clock_judges_only_when_pulses_are_regular() -> None:
    clock, second, offsets = PartitionClock(), 1_000_000, count()

    def advance(seconds: int) -> bool:
        return clock.advance(seconds * second, offset=next(offsets), interval=5, settle=30)

    first = advance(100)
    regular = [advance(100 + n) for n in (5, 15, 30, 35)]
    gap = advance(651)

    assert first is False
    assert regular == [False, False, True, True]
    assert gap is False
    assert clock.resumed_at == 651 * second
    assert advance(1) is False


def test_a_pulse_that_was_taken_already_moves_no_clock_and_may_be_judged_again() -> None:
    clock, second = PartitionClock(), 1_000_000
    for offset, at in enumerate((0, 30, 60)):
        clock.advance(at * second, offset=offset, interval=30, settle=30)
    before = replace(clock)

    again = [clock.advance(at * second, offset=offset, interval=30, settle=30) for offset, at in enumerate((0, 30, 60))]

    assert again == [False, True, True]
    assert clock == before


@pytest.mark.parametrize(("dataset", "key"), [(None, KEY), ("lake", KEY + b"\0lake")])
def test_the_watermark_of_a_dataset_has_a_key_of_its_own_in_the_partition_of_its_pipeline(
    dataset: str | None, key: bytes
) -> None:
    event = WatermarkAdvanced(
        event_id=uuid4(), occurred_at=NOON, pipeline="orders_daily", watermark="1", dataset=dataset
    )
    records = [message(encode(event), KEY), message(encode(event), KEY + b"\0lake")]

    intake = sort_out(records, homes=HOMES, expects=(WatermarkAdvanced,), now=NOON, epoch=0)

    assert [taken.key for taken in intake.taken[HOME]] == [KEY]
    assert [(record.partition, record.key) for record in intake.misplaced] == [(HOME, key)]
