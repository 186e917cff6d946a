"""One run of a pipeline: what the job holds between `with` and the end of the block."""

from __future__ import annotations

import os
import threading
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import UUID

from watchline.schemas.limits import MAX_INTEGER, MAX_KEYS
from watchline.sdk.cleaning import clean_count, clean_name, clean_number, clean_seconds, clean_watermark, write_time
from watchline.sdk.harmless import harmless, never_raises, usable, warn_once
from watchline.sdk.identity import make_id
from watchline.sdk.outcome import judge_exit
from watchline.sdk.process import process
from watchline.sdk.run_options import RunOptions, read_id
from watchline.sdk.run_report import describe_error, describe_maps, describe_start, read_attempt, read_backfill
from watchline.sdk.watermarks import kind_of

if TYPE_CHECKING:
    from watchline.sdk.definition import Pipeline, WatermarkKind
    from watchline.sdk.pipeline import TrackedPipeline

Status = Literal["succeeded", "failed", "aborted", "unknown"]
STATUSES = ("succeeded", "failed", "aborted", "unknown")
COUNTS = ("inserts", "updates", "deletes", "total_rows")
CURRENT: ContextVar[Run | None] = ContextVar("watchline_run", default=None)


def current_run() -> Run | None:
    """The run that this code is part of, None outside of any."""
    return CURRENT.get()


class Run:
    """A run; use it as `with` or `async with`, or between `TrackedPipeline.start` and `end`.

    Nothing here raises or blocks, except for `watermark`, which reads the log when it is asked for. Of several
    processes only the one that began a run reports on it.
    """

    def __init__(self, pipeline: TrackedPipeline, options: RunOptions, *, manual: bool = False) -> None:
        self.id: UUID = read_id(options.run_id) or make_id()
        self.pipeline = pipeline
        self._options = options
        self._manual = manual
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._counts: dict[str, int] = {}
        self._metrics: dict[str, float] = {}
        self._labels: dict[str, object] = {}
        self._metadata: dict[str, Any] = {}
        self._advances: dict[str | None, tuple[str, str]] = {}
        self._watermark: str | None = None
        self._watermark_known = False
        self._began: float | None = None
        self._started_at: datetime | None = None
        self._ended = False
        self._outer: list[Run | None] = []

    @property
    def skip(self) -> bool:
        """Whether the pipeline is declared inactive: the job should do nothing. Such a run is not reported."""
        return not self.pipeline.active

    @property
    def watermark(self) -> str | None:
        """The last watermark of the pipeline, else its declared default, else None; read once a run.

        Takes a connection to Kafka and at most `watermark_seconds`. Raises WatermarkUnavailable when the log can't be
        read: guessing would load data twice or not at all.
        """
        if not self._watermark_known:
            given = self._options.watermark
            self._watermark = self.pipeline.read_watermark() if given is None else clean_watermark(given)
            self._watermark_known = True
        return self._watermark

    async def read_watermark(self) -> str | None:
        """`watermark`, without holding up the event loop."""
        import asyncio  # noqa: PLC0415 - loaded in whoever awaits; 40 ms for a job without

        return await asyncio.to_thread(lambda: self.watermark)

    @never_raises
    def add(
        self,
        *,
        inserts: object = None,
        updates: object = None,
        deletes: object = None,
        total_rows: object = None,
        **other: object,
    ) -> None:
        """Add to the counts of rows; one that is never given stays unknown, which is not 0.

        Unknown names are logged and ignored: a typing error must not cost the load.
        """
        given = {"inserts": inserts, "updates": updates, "deletes": deletes, "total_rows": total_rows}
        for name in other:
            warn_once(f"add {name}", "run.add knows %s, not %.200r", ", ".join(COUNTS), name)
        if not self._is_ours():
            return
        with self._lock:
            for name, value in given.items():
                if value is not None:
                    self._add_count(name, value)

    @never_raises
    def metric(self, name: str, value: object) -> None:
        """Set a metric of your own; the last value counts. At most 64 a run."""
        number = clean_number(name, value)
        key = clean_name("metric", name)
        if number is None or key is None or not key.isprintable() or not self._is_ours():
            return
        if len(self._metrics) >= MAX_KEYS and key not in self._metrics:
            warn_once("metrics", "a run has at most %d metrics, %.200r is left out", MAX_KEYS, key)
            return
        self._metrics[key] = float(number)

    @never_raises
    def label(self, **labels: object) -> None:
        """Set labels: texts to filter runs by."""
        self._labels.update(labels)

    @never_raises
    def note(self, **metadata: object) -> None:
        """Set metadata: any JSON."""
        self._metadata.update(metadata)

    @never_raises
    def advance(self, watermark: object, kind: WatermarkKind | None = None, dataset: str | None = None) -> None:
        """Move the watermark once the run has succeeded; a run that fails moves none. The last call counts.

        `kind` defaults to the pipeline's, else to what the value is: a date or time is a timestamp, an int an integer.
        """
        text = clean_watermark(watermark)
        place = None if dataset is None else clean_name("dataset", dataset, 500)
        if text is None or (dataset is not None and place is None) or not self._is_ours():
            return
        declared = kind or self.pipeline.watermark_kind or kind_of(watermark) or "text"
        self._advances[place] = (text, declared if declared in {"timestamp", "integer"} else "text")

    def child(self, pipeline: Pipeline | TrackedPipeline, **options: Any) -> Run:
        """A run of another pipeline as part of this one; takes what `TrackedPipeline.run` takes."""
        return self.pipeline.sibling(pipeline).run(**{"parent_run_id": self.id, **options})

    def begin(self) -> Self:
        """Report the start. `with` does it by itself."""
        with harmless("starting a run"):
            if self._began is None:
                self._started_at, self._began = datetime.now(UTC), time.monotonic()
                self.pipeline.declare(at=self._started_at)
                if not self.skip:
                    self._begin()
        return self

    def end(self, status: Status = "succeeded", error: object | None = None) -> None:
        """Report the end, once; a later call changes nothing. `with` does it by itself."""
        with harmless("ending a run"):
            if self._is_ours() and not self._ended and not self.skip:
                self._ended = True
                self._end(status if status in STATUSES else "unknown", error)

    def abort(self, reason: str) -> None:
        """Report that the run was ended from outside."""
        self.end("aborted", reason)

    def beat(self) -> float | None:
        """Report that the run is alive; the seconds until it should be called again, None once it has ended."""
        seconds = self.heartbeat_seconds
        if self._ended or seconds is None or not self._is_ours():
            return None
        with harmless("sending a heartbeat"):
            self.pipeline.emit("run.heartbeat", {"run_id": str(self.id), **self._counts})
        return seconds

    @property
    def heartbeat_seconds(self) -> float | None:
        """The interval of heartbeats; None for a run begun by `start` unless asked for, as it may outlive us."""
        if self._options.heartbeat_seconds is not None:
            return clean_seconds("heartbeat_seconds", self._options.heartbeat_seconds)
        return None if self._manual else self.pipeline.heartbeat_seconds

    def __enter__(self) -> Self:
        self.begin()
        self._outer.append(CURRENT.get())  # a list: the block may be entered within itself
        CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._outer:
            CURRENT.set(self._outer.pop())
        with harmless("ending a run"):
            self.end(*judge_exit(error))

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _is_ours(self) -> bool:
        return self._pid == os.getpid()

    def _add_count(self, name: str, value: object) -> None:
        count = clean_count(name, value)
        if count is not None:
            self._counts[name] = min(self._counts.get(name, 0) + count, MAX_INTEGER)

    def _begin(self) -> None:
        fields = {"run_id": str(self.id), "heartbeat_seconds": self.heartbeat_seconds}
        self.pipeline.emit("run.started", fields | describe_start(self._options), at=self._started_at)
        if not self._manual:
            process.opened(self)
        if self.heartbeat_seconds is not None:
            self.pipeline.outlet.watch(self, self.heartbeat_seconds)

    def _end(self, status: str, error: object | None) -> None:
        elapsed = None if self._began is None else round((time.monotonic() - self._began) * 1000)
        process.closed(self)
        self.pipeline.outlet.unwatch(self)
        self.pipeline.emit("run.ended", self._end_fields(status, error, elapsed))
        if status == "succeeded":
            self._send_advances()

    def _end_fields(self, status: str, error: object | None, elapsed: int | None) -> dict[str, Any]:
        own = self._advances.get(None) if status == "succeeded" else None
        return {
            "run_id": str(self.id),
            "attempt": read_attempt(self._options),
            "status": status,
            "started_at": None if self._started_at is None else write_time(self._started_at),
            "duration_ms": elapsed,
            **self._counts,
            "metrics": self._metrics or None,
            "next_watermark": own[0] if own else None,
            "error": None if error is None else usable("an error", describe_error, error),
            "backfill": read_backfill(self._options),
            **describe_maps(self._labels, self._metadata),
        }

    def _send_advances(self) -> None:
        for dataset, (watermark, kind) in self._advances.items():
            fields = {"watermark": watermark, "kind": kind, "run_id": str(self.id), "dataset": dataset}
            self.pipeline.emit("watermark.advanced", fields)
