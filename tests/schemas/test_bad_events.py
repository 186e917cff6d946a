"""The 185 hostile, broken and odd records of `data/cases.jsonl`, each with the outcome that it must have."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from watchline.schemas import FLAGS, BadEvent, Event, RunError, check_key, decode, encode

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
# What is wrong with these shows only next to their key or the event before them: the streams judge that.
JUDGED_BY_STREAMS = {
    "tx-emptykey",
    "tx-wrongkey",
    "tx-badkey",
    "tx-jsonkey",
    "seq-two-ends-2b",
    "seq-neg-2b",
    "seq-wm-back-2b",
}


@dataclass(frozen=True)
class Case:
    """One record of the file."""

    id: str
    payload: bytes | None
    key: bytes | None
    expect: frozenset[str]
    reason: str | None


def as_bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def read_case(line: str) -> Case:
    case: dict[str, Any] = json.loads(line)
    expect = frozenset(case["expect"].split("|"))
    return Case(case["id"], as_bytes(case["payload"]), as_bytes(case["key"]), expect, case.get("reason"))


CASES = [read_case(line) for line in (Path(__file__).parent / "data/cases.jsonl").read_text().splitlines()]
BY_ID = {case.id: case for case in CASES}


def judge(case: Case) -> Event | BadEvent:
    try:
        check_key(case.key)
        return decode(case.payload, now=NOW)
    except BadEvent as error:
        return error


def test_the_file_is_complete() -> None:
    assert len(BY_ID) == 185


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_each_record_has_the_outcome_of_the_file(case: Case) -> None:
    found = judge(case)

    if isinstance(found, BadEvent):
        assert "dlq" in case.expect
        assert found.reason == case.reason
        assert found.detail
    elif "normalise" in case.expect and case.id not in JUDGED_BY_STREAMS:
        assert found.flags
        assert set(found.flags) <= set(FLAGS)
    else:
        assert case.expect & {"accept", "normalise"}
        assert found.flags == ()


# What must be true of the event afterwards, where the decoder alone decides it. `Any`: the cases are of all types.
EFFECTS: dict[str, Callable[[Any], bool]] = {
    "ok-2p53": lambda event: event.inserts == 9007199254740993,
    "ok-int64max": lambda event: event.inserts == 2**63 - 1,
    "ok-offset": lambda event: event.occurred_at.isoformat() == "2026-11-30T11:55:00+00:00",
    "ok-unknown-offset": lambda event: event.occurred_at.isoformat() == "2026-11-30T11:59:00+00:00",
    "ok-200": lambda event: len(event.pipeline) == 200,
    "ok-extra": lambda event: not hasattr(event, "team") and b"nested" not in encode(event),
    "ok-null-optional": lambda event: (event.inserts, event.error, event.metrics, event.labels) == (None, None, {}, {}),
    "ok-zero": lambda event: (event.duration_ms, event.inserts, event.total_rows) == (0, 0, 0),
    "enc-bom": lambda event: event.pipeline == "orders_daily" and event.flags == ("bom_removed",),
    "enc-esc-nul-text": lambda event: event.error == RunError(message="boom\ufffdtail"),
    "enc-esc-nul-labelkey": lambda event: event.labels == {"te\ufffdam": "a\ufffdb"},
    "enc-surr-text": lambda event: event.error.message == "x\ufffdy",
    "enc-surr-ok": lambda event: event.error.message == "\U0001f680",
    "enc-nfd": lambda event: event.pipeline == "cafe\u0301",
    "bomb-depth-instring": lambda event: len(event.error.message) > 7000,
    "bomb-100k-text": lambda event: len(event.error.message) <= 8192 and event.error.message.endswith("[cut]"),
    "str-missing-status": lambda event: event.status == "unknown",
    "str-rid-upper": lambda event: event.run_id == UUID("da67b2dd-f5d3-5cc1-97cd-b14dec5429e4"),
    "str-rid-nohyphen": lambda event: str(event.run_id) == "731419d3-a24a-569a-897f-da4f934b8d9e",
    "str-rid-braces": lambda event: str(event.run_id) == "09372bce-4ddf-5ecc-8dd6-4f0525c928bb",
    "str-labels-list": lambda event: event.labels == {},
    "str-labels-mixed": lambda event: event.labels == {"i": "1", "b": "true", "s": "ok"},
    "str-error-object": lambda event: event.error.message == '{"type": "ValueError"}',
    "str-shadow": lambda event: decode(encode(event), now=NOW) == event,
    "str-proto": lambda event: b"admin" not in encode(event),
    "ver-float": lambda event: event.schema_version == 1,
    "num-dur-huge": lambda event: event.duration_ms is None and event.status == "succeeded",
    "num-dur-str": lambda event: event.duration_ms is None,
    "num-dur-list": lambda event: event.duration_ms is None,
    "num-rows-2p63": lambda event: event.inserts is None,
    "num-rows-2p64": lambda event: event.inserts is None,
    "num-rows-neg2p63": lambda event: event.inserts is None,
    "num-rows-exp": lambda event: event.inserts == 1000 and type(event.inserts) is int,
    "num-rows-negzero": lambda event: event.inserts == 0,
    "num-rows-negzerof": lambda event: repr(event.inserts) == "0",
    "num-rows-str-arabic": lambda event: event.inserts is None,
    "num-metric-1e308": lambda event: event.metrics == {"m": 1e308},
    "num-metric-denormal": lambda event: event.metrics == {"m": 5e-324},
    "num-metric-str": lambda event: event.metrics == {},
    "num-metric-nested": lambda event: event.metrics == {},
    "num-metric-emptyname": lambda event: event.metrics == {},
    "num-status-unknown": lambda event: (event.status, event.reported_status) == ("unknown", "exploded"),
    "num-status-case": lambda event: event.status == "succeeded",
    "num-status-int": lambda event: (event.status, event.reported_status) == ("unknown", "0"),
    "time-skew10m": lambda event: event.flags == ("clock_skew",) and event.occurred_at.minute == 10,
    "time-nanos": lambda event: event.occurred_at.microsecond == 123456,
    "time-wm-future1h": lambda event: event.flags == ("watermark_ahead",),
    "inj-error-ansi": lambda event: event.error.message == "\x1b]0;owned\x07\x1b[2J",
    "inj-secret-dsn": lambda event: event.error.message == "could not connect to postgresql://svc:***@db:5432/x",
    "inj-secret-bearer": lambda event: event.error.message == "Authorization: Bearer ***",
    "inj-secret-aws": lambda event: event.error.message == "*** denied",
}


@pytest.mark.parametrize("name", EFFECTS)
def test_each_repair_has_the_effect_of_the_file(name: str) -> None:
    found = judge(BY_ID[name])

    assert not isinstance(found, BadEvent)
    assert EFFECTS[name](found)


@pytest.mark.parametrize("case", [case for case in CASES if case.id.startswith("inj-")], ids=lambda case: case.id)
def test_a_name_that_looks_like_code_is_kept_byte_for_byte(case: Case) -> None:
    found = judge(case)

    assert not isinstance(found, BadEvent)
    assert case.key is not None
    assert found.pipeline.encode() == case.key
