"""`Watchline`: the settings, and the one place of this process that events leave by."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchline.schemas.topics import watermark_key
from watchline.sdk.definition import Pipeline
from watchline.sdk.events import complete_event, make_event, pack
from watchline.sdk.harmless import harmless
from watchline.sdk.message import Counters
from watchline.sdk.outlet import Console, Nowhere, Outlet
from watchline.sdk.pipeline import TrackedPipeline
from watchline.sdk.process import importing, process
from watchline.sdk.settings import Carrier, Settings, read_settings
from watchline.sdk.watermarks import fold_watermarks

if TYPE_CHECKING:
    from watchline.schemas.connection import KafkaConnection

_shared: dict[Settings, Outlet] = {}


class Watchline:
    """Reports to Kafka (or to the terminal). Nothing is opened before the first event.

    Arguments win over WATCHLINE_* variables. Clients with equal settings share one background thread and connection.
    """

    def __init__(
        self,
        connection: KafkaConnection | str | None = None,
        *,
        topic_prefix: str | None = None,
        transport: Carrier | None = None,
        disabled: bool | None = None,
        outbox_dir: str | Path | None = None,
        outbox_max_bytes: int | None = None,
        buffer_events: int | None = None,
        buffer_bytes: int | None = None,
        flush_seconds: float | None = None,
        watermark_seconds: float | None = None,
        heartbeat_seconds: float | None = None,
        idempotence: bool | None = None,
        handle_sigterm: bool | None = None,
        outlet: Outlet | None = None,
    ) -> None:
        arguments = {
            "connection": connection,
            "topic_prefix": topic_prefix,
            "transport": transport,
            "disabled": disabled,
            "outbox_dir": outbox_dir,
            "outbox_max_bytes": outbox_max_bytes,
            "buffer_events": buffer_events,
            "buffer_bytes": buffer_bytes,
            "flush_seconds": flush_seconds,
            "watermark_seconds": watermark_seconds,
            "heartbeat_seconds": heartbeat_seconds,
            "idempotence": idempotence,
            "handle_sigterm": handle_sigterm,
        }
        self.settings = Settings()
        with harmless("reading settings"):
            self.settings = read_settings(arguments, os.environ)
        self._outlet = outlet
        self._declared: set[object] = set()
        self._pid = os.getpid()

    def pipeline(self, pipeline: Pipeline) -> TrackedPipeline:
        """The pipeline, ready to be run."""
        return TrackedPipeline(self, pipeline)

    @property
    def outlet(self) -> Outlet:
        """Where events go; opened on first use."""
        if self._outlet is None:
            self._outlet = share_outlet(self.settings)
        return self._outlet

    def emit(self, event: Mapping[str, Any]) -> None:
        """Send an event made by hand; id, version, time and producer are filled in where they lack."""
        with harmless("emitting an event"):
            self._put(lambda: complete_event(event))

    def send(self, event_type: str, pipeline: str, fields: Mapping[str, Any], *, at: datetime) -> None:
        """Send an event of this process."""
        with harmless("emitting an event"):
            self._put(lambda: make_event(event_type, pipeline, fields, at=at))

    def flush(self, seconds: float | None = None) -> bool:
        """Wait until all is acknowledged, at most `seconds` (default: `flush_seconds`); whether it is.

        A process that leaves by `os._exit` should call it.
        """
        with harmless("flushing"):
            return self.outlet.flush(self.settings.flush_seconds if seconds is None else seconds)
        return False

    def close(self, seconds: float | None = None) -> None:
        """`flush`, put on disk what is left, and disconnect; happens by itself at exit."""
        with harmless("closing"):
            self.outlet.close(self.settings.flush_seconds if seconds is None else seconds)

    def counters(self) -> Counters:
        """What became of every event of this process."""
        with harmless("counting"):
            return self.outlet.counters()
        return Counters()

    def read_watermark(self, pipeline: str, dataset: str | None = None) -> str | None:
        """The watermark of a pipeline in the log; WatermarkUnavailable when it can't be read.

        With `disabled` there is no log, so there is no watermark and the declared default counts.
        """
        if self.settings.disabled:
            return None
        seconds = self.settings.watermark_seconds
        values = self.outlet.read_values(self.settings.topics.watermarks, watermark_key(pipeline, dataset), seconds)
        return fold_watermarks(values, pipeline=pipeline, dataset=dataset, now=datetime.now(UTC))

    def is_new(self, key: object) -> bool:
        """Whether this process sees `key` for the first time; a fork is another process."""
        if self._pid != os.getpid():
            self._pid, self._declared = os.getpid(), set()
        is_new = key not in self._declared
        self._declared.add(key)
        return is_new

    def _put(self, make: Callable[[], Mapping[str, Any]]) -> None:
        try:
            message = pack(make(), self.settings.topics)
        except (ValueError, TypeError, RecursionError):
            self.outlet.refuse("unusable")
            raise
        self.outlet.emit(message)


def read_environment() -> Settings:
    """The settings of this process without any arguments."""
    return read_settings({}, os.environ)


def share_outlet(settings: Settings) -> Outlet:
    """The outlet of these settings in this process."""
    with importing:
        if settings not in _shared:
            _shared[settings] = open_outlet(settings)
        return _shared[settings]


def open_outlet(settings: Settings) -> Outlet:
    """A new outlet, closed by itself when the process ends."""
    if settings.disabled:
        return Nowhere()
    if settings.transport == "console":
        outlet: Outlet = Console()
    else:
        outlet = open_courier(settings)
    process.adopt(outlet, flush_seconds=settings.flush_seconds, handle_sigterm=settings.handle_sigterm)
    return outlet


def open_courier(settings: Settings) -> Outlet:
    """The way to Kafka; it alone needs asyncio."""
    from watchline.sdk.courier import Courier  # noqa: PLC0415 - 40 ms that a dry run can do without
    from watchline.sdk.kafka import KafkaCarrier  # noqa: PLC0415 - as above
    from watchline.sdk.outbox import Outbox  # noqa: PLC0415 - as above

    outbox = Outbox(settings.outbox_folder, max_bytes=settings.outbox_max_bytes)
    return Courier(
        lambda: KafkaCarrier(settings),
        outbox,
        max_events=settings.buffer_events,
        max_bytes=settings.buffer_bytes,
    )
