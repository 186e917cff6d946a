"""Events as they travel: plain dictionaries to JSON bytes, within the limits of a record."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from watchline.schemas.topics import MAX_RECORD_BYTES, Topics, watermark_key
from watchline.sdk.cleaning import clean_text, write_time
from watchline.sdk.harmless import warn_once
from watchline.sdk.identity import make_id
from watchline.sdk.message import Message, rank_of

VERSION = "0.1.0"  # of the distribution; asking importlib.metadata costs 20 ms
OPTIONAL = ("metadata", "labels", "metrics")  # left out in this order when a record is too large


def make_event(event_type: str, pipeline: str, fields: Mapping[str, Any], *, at: datetime) -> dict[str, Any]:
    """An event of this process at `at`, nulls left out."""
    envelope = {
        "event_id": str(make_id()),
        "event_type": event_type,
        "schema_version": 1,
        "occurred_at": write_time(at),
        "pipeline": pipeline,
        "producer": dict(describe_producer(os.getpid())),
    }
    return envelope | {name: value for name, value in fields.items() if value is not None}


def complete_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event made by hand, with the id, version, time and producer that it lacks; ValueError without a pipeline."""
    event_type, pipeline = event.get("event_type"), event.get("pipeline")
    if not isinstance(event_type, str) or not isinstance(pipeline, str):
        raise ValueError("an event needs an event_type and a pipeline")
    made = make_event(event_type, pipeline, {}, at=datetime.now(UTC))
    return made | {name: value for name, value in event.items() if value is not None}


def topic_of(event_type: str, topics: Topics) -> str:
    """The topic that carries an event type."""
    if event_type == "pipeline.declared":
        return topics.pipelines
    return topics.watermarks if event_type == "watermark.advanced" else topics.runs


def pack(event: Mapping[str, Any], topics: Topics) -> Message:
    """The record of an event; one that is too large loses its free maps, since it must not lose the fact.

    Raises ValueError when even that is too large.
    """
    value = write_json(event)
    left = dict(event)
    for name in OPTIONAL:
        if len(value) > MAX_RECORD_BYTES and left.pop(name, None):
            warn_once(f"too large {name}", "an event has %d bytes; its %s are left out", len(value), name)
            value = write_json(left)
    if len(value) > MAX_RECORD_BYTES:
        raise ValueError(f"an event of {len(value)} bytes; at most {MAX_RECORD_BYTES}")
    event_type = str(event["event_type"])
    return Message(topic_of(event_type, topics), key_of(event), value, rank_of(event_type))


def key_of(event: Mapping[str, Any]) -> bytes:
    """The pipeline; for the watermark of a dataset that too."""
    dataset = event.get("dataset") if event["event_type"] == "watermark.advanced" else None
    return watermark_key(str(event["pipeline"]), str(dataset) if dataset else None)


def write_json(event: Mapping[str, Any]) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


@cache
def describe_producer(pid: int) -> tuple[tuple[str, Any], ...]:
    """This program; by process id, so that a fork describes itself."""
    name = clean_text(os.path.basename(sys.argv[0] if sys.argv else "") or "python", 200)  # noqa: PTH119 - any text
    return ("name", name), ("version", f"watchline {VERSION}"), ("host", host_name()), ("pid", pid)


def host_name() -> str:
    """This machine's name."""
    if hasattr(os, "uname"):
        return clean_text(os.uname().nodename, 200)
    return clean_text(os.environ.get("COMPUTERNAME", "unknown"), 200)
