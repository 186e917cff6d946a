"""A declared pipeline, ready to be run: what `Watchline().pipeline(…)` gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from watchline.schemas.errors import WatermarkUnavailable
from watchline.sdk.declaration import describe
from watchline.sdk.definition import Pipeline
from watchline.sdk.harmless import harmless, warn_once
from watchline.sdk.run import Run, Status
from watchline.sdk.run_options import RunOptions, read_id, read_options
from watchline.sdk.tracking import track

if TYPE_CHECKING:
    from watchline.sdk.client import Watchline
    from watchline.sdk.outlet import Outlet

F = TypeVar("F", bound=Callable[..., Any])


class TrackedPipeline:
    """A pipeline bound to where its events go. Declares itself once a process, before its first run."""

    def __init__(self, client: Watchline, pipeline: Pipeline) -> None:
        self._client = client
        self.pipeline = pipeline

    @cached_property
    def declared(self) -> Mapping[str, Any]:
        """The fields of `pipeline.declared`; empty when the pipeline can't be used."""
        with harmless("declaring a pipeline"):
            found = describe(self.pipeline)
            if "pipeline" in found:
                return found
        warn_once("unusable pipeline", "a pipeline without a usable name is not reported: %.200r", self.pipeline)
        return {}

    @property
    def name(self) -> str | None:
        """The name that events carry; None when it can't be used and nothing is reported."""
        return self.declared.get("pipeline")

    @property
    def active(self) -> bool:
        """Whether runs are meant to happen."""
        return bool(self.declared.get("active", True))

    @property
    def config_hash(self) -> str | None:
        """SHA-256 of the declaration, lineage included; the same in every process."""
        return self.declared.get("config_hash")

    @property
    def watermark_kind(self) -> str | None:
        """The declared kind of watermark, None when none is declared."""
        return self.pipeline.watermark_kind

    @property
    def heartbeat_seconds(self) -> float | None:
        """The interval of heartbeats, None for none."""
        return self._client.settings.heartbeat_seconds or None

    @property
    def outlet(self) -> Outlet:
        """Where the events go."""
        return self._client.outlet

    def run(self, **options: Any) -> Run:
        """A run, for `with` or `async with`; takes the fields of `RunOptions`."""
        return Run(self, read_options(options))

    def track(self, function: F) -> F:
        """A decorator: a run round every call. A parameter named `run` receives it; `current_run()` finds it too.

        When the pipeline is inactive, the function is not called: None comes back, a generator yields nothing.
        """
        return track(self, function)

    def start(self, **options: Any) -> Run:
        """Begin a run that somebody else may end: it stays open when this process ends."""
        return Run(self, read_options(options), manual=True).begin()

    def end(
        self,
        run: Run | UUID | str,
        status: Status = "succeeded",
        error: object | None = None,
        *,
        watermark: object | None = None,
        **counts: object,
    ) -> None:
        """End a run begun by `start`, here or (by its id) in another process, where its duration is not known."""
        found = run if isinstance(run, Run) else self._resume(run)
        if found is None:
            return
        found.add(**counts)
        if watermark is not None:
            found.advance(watermark)
        found.end(status, error)

    def declare(self, *, at: datetime | None = None) -> None:
        """Send the declaration, unless this process has sent the same one."""
        with harmless("declaring a pipeline"):
            key = (self.name, self.config_hash)
            if self.name is not None and self._client.is_new(key):
                fields = {name: value for name, value in self.declared.items() if name != "pipeline"}
                self.emit("pipeline.declared", fields, at=at)

    def emit(self, event_type: str, fields: Mapping[str, Any], *, at: datetime | None = None) -> None:
        """Send one event of this pipeline."""
        if self.name is not None:
            self._client.send(event_type, self.name, fields, at=at or datetime.now(UTC))

    def read_watermark(self) -> str | None:
        """The watermark in force, else the declared default; WatermarkUnavailable when the log can't be read."""
        if self.name is None:
            raise WatermarkUnavailable("a pipeline without a usable name has no watermark")
        found = self._client.read_watermark(self.name)
        return self.declared.get("default_watermark") if found is None else found

    def sibling(self, pipeline: Pipeline | TrackedPipeline) -> TrackedPipeline:
        """Another pipeline, bound to the same place."""
        return pipeline if isinstance(pipeline, TrackedPipeline) else self._client.pipeline(pipeline)

    def _resume(self, run_id: UUID | str) -> Run | None:
        known = read_id(run_id)
        return None if known is None else Run(self, RunOptions(run_id=known), manual=True)
