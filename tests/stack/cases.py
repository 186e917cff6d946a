"""The bad events as Kafka records."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from watchline.schemas import Topics

FILE = Path(__file__).parents[1] / "schemas" / "data" / "cases.jsonl"
CLOCK = datetime(2026, 11, 30, 12, tzinfo=UTC)  # of the file
NEAR = re.compile(rb"2026-1[0-2]-[0-3][0-9]T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]")  # to its clock, and no other


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what to send, how often, and what must come of it."""

    name: str
    expect: str
    reason: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int | None
    repeat: int
    group: str  # of an ordered scenario, whose steps must be sent as they stand

    def topic(self, topics: Topics) -> str:
        """Where a producer would send it: by its type if that can be read, else to `runs`."""
        kind = str(self.fields.get("event_type", ""))
        return topics.watermarks if kind.startswith("watermark.") else topics.runs

    @property
    def fields(self) -> dict[str, Any]:
        """The payload as JSON, empty when it is none."""
        try:
            read = json.loads((self.value or b"").decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return {}
        return read if isinstance(read, dict) else {}


def read_cases() -> list[Case]:
    """Every case whose outcome does not depend on the clock, in the order of the file."""
    lines = (json.loads(line) for line in FILE.read_text().splitlines())
    return [_case(line) for line in lines if not line.get("time_sensitive")]


def read_cases_at(now: datetime) -> list[Case]:
    """All cases as if `now` were the clock of the file: ten minutes ahead of that is ten minutes ahead of now."""
    cases = [_case(json.loads(line)) for line in FILE.read_text().splitlines()]
    ahead = timedelta(seconds=round((now - CLOCK).total_seconds()))
    return [replace(case, value=None if case.value is None else moved(case.value, ahead)) for case in cases]


def moved(raw: bytes, ahead: timedelta) -> bytes:
    """The bytes with each time near the file's clock so much later; their length stays."""

    def move(found: re.Match[bytes]) -> bytes:
        moment = datetime.fromisoformat(found[0].decode())
        return (moment + ahead).isoformat().encode()

    return NEAR.sub(move, raw)


def _case(line: dict[str, Any]) -> Case:
    return Case(
        name=line["id"],
        expect=line["expect"],
        reason=line["reason"],
        key=_bytes(line["key"]),
        value=_bytes(line["payload"]),
        headers=tuple((name, b64decode(value)) for name, value in line.get("headers") or ()),
        timestamp_ms=line.get("record_timestamp_ms"),
        repeat=line.get("repeat") or 1,
        group=line.get("group") or "",
    )


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
