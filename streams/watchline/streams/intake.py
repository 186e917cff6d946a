"""What a batch holds: events at home, events that must move to their own partition, and records nobody can read."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aiokafka.partitioner import murmur2
from faust.types.tuples import Message

from watchline.schemas import BadEvent, Event, WatermarkAdvanced, check_key, decode, encode
from watchline.schemas.records import DeadLetter
from watchline.schemas.topics import watermark_key
from watchline.streams.pulses import decode_pulse

MAX_WRITTEN_BYTES = 400 * 1024  # a broker takes 1 MB unless told otherwise
MODEST_BYTES = 32 * 1024  # below this no event grows beyond the limit
Headers = list[tuple[str, bytes]]  # aiokafka takes nothing but a list


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A record that was read under another key or in another partition than its own."""

    partition: int
    key: bytes
    value: bytes
    headers: Headers


@dataclass(frozen=True, slots=True)
class Taken:
    """One record that belongs where it was read: an event, or the time of a pulse."""

    offset: int
    key: bytes
    event: Event | None
    pulse: int | None = None


@dataclass(slots=True)
class Intake:
    """A batch sorted out; `taken` keeps the order of each partition."""

    taken: dict[int, list[Taken]] = field(default_factory=dict)
    misplaced: list[Misplaced] = field(default_factory=list)
    dead: list[DeadLetter] = field(default_factory=list)
    records: int = 0  # of others: pulses are our own
    bad: list[tuple[int, str]] = field(default_factory=list)  # of the dead: which of the records, and why


class Homes:
    """The partition of each pipeline under Kafka's default partitioner (murmur2), remembered."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._known: dict[str, tuple[bytes, int]] = {}

    def of(self, pipeline: str) -> tuple[bytes, int]:
        """Key and partition of `pipeline`."""
        home = self._known.get(pipeline)
        if home is None:
            if len(self._known) >= 500_000:  # hostile names must not fill the memory
                self._known.clear()
            key = pipeline.encode()
            home = self._known[pipeline] = (key, (murmur2(key) & 0x7FFFFFFF) % self._partitions)
        return home


def sort_out(
    messages: Iterable[Message],
    *,
    homes: Homes,
    expects: tuple[type, ...],
    now: datetime,
    epoch: int,
) -> Intake:
    """Decode a batch. The payload names the pipeline: a record under another key or partition is to be sent home."""
    intake, records = Intake(), 0
    for message in messages:
        taken = intake.taken.setdefault(message.partition, [])
        pulse = decode_pulse(message.value)
        if pulse is not None:
            taken.append(Taken(message.offset, b"", None, pulse))
            continue
        records += 1
        try:
            check_key(message.key)
            event = decode(message.value, now=now)
            if not isinstance(event, expects):
                raise BadEvent("unknown_event_type", f"{event.event_type} does not belong on {message.topic}")
            check_written_size(event, message.value)
        except BadEvent as bad:
            intake.dead.append(dead_letter_of(message, bad, failed_at=now, epoch=epoch))
            intake.bad.append((records - 1, bad.reason))
            continue
        pipeline, partition = homes.of(event.pipeline)
        key = watermark_key(event.pipeline, event.dataset) if isinstance(event, WatermarkAdvanced) else pipeline
        if message.key == key and message.partition == partition:
            taken.append(Taken(message.offset, pipeline, event))
        else:
            intake.misplaced.append(Misplaced(partition, key, message.value or b"", headers_of(message)))
    intake.records = records
    return intake


def check_written_size(event: Event, raw: bytes | None) -> None:
    """Refuse an event that would not fit into a record of ours: its batch would be retried for ever.

    Written out in full, `{"metric":"a"}` is eight times as long and `1e15` four times. A run is written with its start
    and its end, so two events must fit.
    """
    if len(raw or b"") > MODEST_BYTES and (size := len(encode(event))) > MAX_WRITTEN_BYTES:
        raise BadEvent("too_large", f"written out it has {size} bytes; at most {MAX_WRITTEN_BYTES}")


def dead_letter_of(message: Message, bad: BadEvent, *, failed_at: datetime, epoch: int) -> DeadLetter:
    """Everything needed to understand the record, and to send it again byte for byte."""
    return DeadLetter(
        reason=bad.reason,
        detail=bad.detail,
        source_topic=message.topic,
        source_partition=message.partition,
        source_offset=message.offset,
        source_timestamp_ms=round(message.timestamp * 1000) if message.timestamp is not None else None,
        key=_text(message.key),
        value=_text(message.value),
        headers=tuple((name, _text(value)) for name, value in headers_of(message)),
        failed_at=failed_at,
        log_epoch=epoch,
    )


def headers_of(message: Message) -> Headers:
    """The headers in order, repetitions kept."""
    found = message.headers or ()
    return list(found.items() if isinstance(found, Mapping) else found)


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else b64encode(raw).decode()
