"""One Kafka record as the sink reads it: its bytes and place, and what they mean."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

import msgspec

from watchline.consumers.sink.run_rows import Meaning, decode
from watchline.schemas.errors import BadEvent
from watchline.schemas.records import DeadLetter


class Source(Protocol):
    """What is read of a Kafka record; aiokafka's ConsumerRecord has it."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int | None: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Iterable[tuple[str, bytes | None]]: ...


class Incoming(msgspec.Struct, frozen=True, gc=False):
    """A Kafka record and its meaning; bytes without a meaning become a dead letter.

    Thousands live at once: a struct that the garbage collector need not visit, for it is in no cycle.
    """

    source: Source
    record: Meaning
    bad: bool = False


def read(source: Source, *, now: datetime, log_epoch: int) -> Incoming:
    """Decode one record of the streams' topics; never raises for what is in it."""
    try:
        return Incoming(source, decode(source.value))
    except BadEvent as error:
        letter = dead_letter(source, error.reason, error.detail, now=now, log_epoch=log_epoch)
        return Incoming(source, letter, bad=True)


def dead_letter(source: Source, reason: str, detail: str, *, now: datetime, log_epoch: int) -> DeadLetter:
    """The dead letter of a record of our own topics, with its bytes."""
    return DeadLetter(
        reason=reason,
        detail=detail,
        source_topic=source.topic,
        source_partition=source.partition,
        source_offset=source.offset,
        source_timestamp_ms=source.timestamp,
        key=encoded(source.key),
        value=encoded(source.value),
        headers=tuple((name, encoded(value)) for name, value in source.headers),
        failed_at=now,
        log_epoch=log_epoch,
    )


def encoded(raw: bytes | None) -> str | None:
    return None if raw is None else base64.b64encode(raw).decode()
