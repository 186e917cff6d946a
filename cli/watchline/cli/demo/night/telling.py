"""How a story of the night is told: events with their times, and what must come of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from watchline.cli.demo.history import NAMESPACE
from watchline.cli.demo.night.clock import Night
from watchline.schemas.events import Event, PipelineDeclared, Producer, RunEnded, RunError, RunHeartbeat, RunStarted
from watchline.schemas.records import ExpectedState, IncidentKind, ResolveReason


@dataclass(frozen=True, slots=True)
class Sent:
    """An event as the log takes it: it may arrive later than it occurred."""

    arrives: datetime
    event: Event


@dataclass(frozen=True, slots=True)
class Outcome:
    """An incident that must come and be over by the end of the night; of one that is told `under` another pipeline's
    people hear by a line in the message of that one only.
    """

    pipeline: str
    kind: IncidentKind
    opened_at: datetime
    resolved_at: datetime
    reason: ResolveReason
    why: str
    under: str | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """An expected start that must come to `state`."""

    pipeline: str
    at: datetime
    state: ExpectedState


@dataclass(frozen=True, slots=True)
class Story:
    """Some pipelines, what they send, and what must come of it; `quiet` says what nobody must hear of, and why."""

    declared: tuple[PipelineDeclared, ...]
    sent: tuple[Sent, ...]
    outcomes: tuple[Outcome, ...] = ()
    dues: tuple[Due, ...] = ()
    quiet: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a pipeline, by its name in the script."""

    pipeline: str
    name: str
    host: str = "etl-01"

    @property
    def run_id(self) -> UUID:
        return uuid5(NAMESPACE, f"night {self.pipeline} {self.name}")

    def start(self, at: datetime, **fields: Any) -> Sent:
        return Sent(at, RunStarted(**self._head("started", at), **fields))

    def beat(self, at: datetime) -> Sent:
        return Sent(at, RunHeartbeat(**self._head("heartbeat", at)))

    def end(self, began: datetime, at: datetime, *, arrives: datetime | None = None, **fields: Any) -> Sent:
        """Its end; `arrives` is when the log takes it, if later."""
        ended: dict[str, Any] = {"status": "succeeded", "started_at": began}
        ended |= {"duration_ms": int((at - began).total_seconds() * 1000), **fields}
        return Sent(arrives or at, RunEnded(**self._head("ended", at), **ended))

    def whole(self, began: datetime, at: datetime, **fields: Any) -> Iterator[Sent]:
        """A start and an end, each sent when it happened."""
        yield self.start(began)
        yield self.end(began, at, **fields)

    def _head(self, kind: str, at: datetime) -> dict[str, Any]:
        return {
            "event_id": uuid5(self.run_id, f"{kind} {at.isoformat()}"),
            "occurred_at": at,
            "pipeline": self.pipeline,
            "producer": Producer(name="demo", host=self.host),
            "run_id": self.run_id,
        }


def failed(kind: str, message: str) -> dict[str, Any]:
    """The fields of an end that failed."""
    return {"status": "failed", "error": RunError(type=kind, message=message)}


def declare(night: Night, pipeline: str, **fields: Any) -> PipelineDeclared:
    """What a pipeline says about itself as the night begins."""
    return PipelineDeclared(
        event_id=uuid5(NAMESPACE, f"night {pipeline}"),
        occurred_at=night.begins,
        pipeline=pipeline,
        producer=Producer(name="demo"),
        tags=("demo", "night"),
        **fields,
    )
