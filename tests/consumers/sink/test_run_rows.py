"""Decoding a run straight into its row gives what the model gives, or leaves it to the model."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinking.records import advanced, declared, ended, incident, letter, name_id, started
from watchline.consumers.sink.run_rows import DECODER, RunRow, decode, row_from
from watchline.consumers.sink.run_statements import COLUMNS
from watchline.consumers.sink.runs import row_of
from watchline.schemas import decode_record
from watchline.schemas.errors import BadEvent
from watchline.schemas.records import RunRecord, SinkRecord

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
zones = st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=-30)), timezone(timedelta(hours=14))])
times = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=zones)  # noqa: DTZ001 - zones are drawn
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70).map(float)
metadata = st.dictionaries(
    texts, st.recursive(st.none() | st.booleans() | st.integers() | numbers | texts, st.lists, max_leaves=4), max_size=3
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "pipeline": texts,
    "revision": st.integers(0, 2**63),
    "run_id": st.uuids(),
    "record_type": st.just("run"),
    "status": st.sampled_from(["running", "succeeded", "failed", "aborted", "unknown"]),
    "metrics": st.dictionaries(texts, numbers, max_size=3),
    "error": st.none() | st.builds(lambda kind, text: {"type": kind, "message": text}, st.none() | texts, texts),
    "flags": st.lists(texts, max_size=2).map(tuple),
    "overdue": st.booleans(),
    "anomalous": st.booleans(),
    "backfill": st.none() | st.booleans(),
} | {
    name: st.none() | values
    for names, values in {
        "parent_run_id end_event_id": st.uuids(),
        "started_at nominal_at last_heartbeat_at ended_at": times,
        "heartbeat_seconds duration_seconds throughput": numbers,
        "watermark next_watermark reported_status producer_host": texts,
        "attempt inserts updates deletes total_rows": st.integers(-(2**65), 2**65),
        "labels_started labels_ended": st.dictionaries(texts, texts, max_size=2),
        "metadata_started metadata_ended": metadata,
    }.items()
    for name in names.split()
}
runs = st.fixed_dictionaries(FIELDS).map(lambda fields: RunRecord(**fields))


def test_the_row_has_the_fields_of_the_model_and_every_column_a_value() -> None:
    assert set(RunRow.__struct_fields__) == set(RunRecord.model_fields) == set(FIELDS)
    assert len(row_of(row_from(ended()))) == len(COLUMNS)


@given(record=runs, exclude_none=st.booleans())
def test_both_ways_of_decoding_a_run_give_the_same_row(record: RunRecord, exclude_none: bool) -> None:
    raw = record.model_dump_json(exclude_none=exclude_none).encode()

    quick = DECODER.decode(raw)

    slow = decode_record(raw)
    assert isinstance(slow, RunRecord)
    assert quick == row_from(slow)
    assert row_of(quick) == row_of(row_from(slow))


ODD: dict[str, dict[str, Any]] = {
    "a count as text": {"inserts": "5"},
    "a count as a float": {"inserts": 5.0},
    "a broken count": {"inserts": 5.5},
    "a flag that is a number": {"overdue": 1},
    "a time in seconds": {"started_at": 1_796_040_000},
    "a time without a zone": {"started_at": "2026-11-30T12:00:00"},
    "a time with a space": {"started_at": "2026-11-30 12:00:00+01:00"},
    "a day that is none": {"started_at": "2026-02-30T12:00:00Z"},
    "an id in braces": {"run_id": "{0197a1b2-0000-7000-8000-000000000000}"},
    "an id without hyphens": {"run_id": "0197a1b2000070008000000000000000"},
    "no id": {"run_id": None},
    "an unknown field": {"later": {"a": [1]}},
    "an unknown field of the error": {"error": {"message": "x", "later": 1}},
    "an unknown status": {"status": "lost"},
    "labels that are no text": {"labels_started": {"a": 1}},
    "metadata that is a list": {"metadata_started": [1]},
    "whole metrics": {"metrics": {"a": 1}},
    "no metrics": {"metrics": None},
    "flags that are a text": {"flags": "late"},
    "another type": {"record_type": "slot"},
    "no pipeline": {"pipeline": None},
}
BYTES = {
    "infinite": b'{"throughput":1e400,',
    "not a number": b'{"throughput":NaN,',
    "a surrogate": b'{"watermark":"\\ud800",',
    "a surrogate where nobody looks": b'{"later":"\\ud800",',
    "no UTF-8": b'{"watermark":"\xff",',
    "no UTF-8 where nobody looks": b'{"later":"\xff",',
    "a field twice": b'{"watermark":"first","metrics":{"a":1,"a":2},',
    "deep": b'{"metadata_started":{"a":' + b"[" * 5000 + b"]" * 5000 + b"},",
    "a large count": b'{"metadata_started":{"a":' + b"9" * 40 + b"},",
    "broken": b'{"metadata_started":{a},',
}
GOOD = started().model_dump(mode="json", exclude_none=True)
SAMPLES = {name: json.dumps(GOOD | odd).encode() for name, odd in ODD.items()} | {
    name: head + json.dumps(GOOD).encode()[1:] for name, head in BYTES.items()
}


@pytest.mark.parametrize("name", SAMPLES)
def test_whatever_is_odd_about_a_run_means_what_the_model_says(name: str) -> None:
    assert meaning(SAMPLES[name], quick=True) == meaning(SAMPLES[name], quick=False)


@pytest.mark.parametrize("record", [declared(), advanced(), incident(), letter()], ids=lambda one: one.record_type)
def test_other_records_are_decoded_by_the_model(record: SinkRecord) -> None:
    assert decode(record.model_dump_json().encode()) == record


@pytest.mark.parametrize("raw", [None, b"", b"[]", b"{}", b"[" * 100_000])
def test_what_is_no_record_stays_a_bad_event(raw: bytes | None) -> None:
    assert meaning(raw, quick=True) == meaning(raw, quick=False)


def test_what_the_streams_write_takes_the_quick_way() -> None:
    with pytest.raises(msgspec.ValidationError):
        DECODER.decode(SAMPLES["an unknown field"])

    assert DECODER.decode(ended().model_dump_json().encode()).run_id == name_id("run")


def meaning(raw: bytes | None, *, quick: bool) -> Any:
    """What either way makes of the bytes: the values of a row or the reason of a bad event."""
    try:
        found = decode(raw) if quick else decode_record(raw)
    except BadEvent as error:
        return error.reason, error.detail
    row = row_from(found) if isinstance(found, RunRecord) else found
    assert isinstance(row, RunRow)
    return tuple(str(value) if isinstance(value, float | Decimal) else value for value in row_of(row))  # nan is nan
