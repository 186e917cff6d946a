"""The 185 hostile, broken and odd records of `data/cases.jsonl`, each with the outcome that it must have."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from watchline.schemas import FLAGS, BadEvent, Event, check_key, decode

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
