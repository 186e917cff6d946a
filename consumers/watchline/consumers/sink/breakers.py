"""Stopping a sink that can read hardly anything: most likely another version writes, or something else does."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from watchline.consumers.sink.incoming import Incoming
from watchline.schemas.breaker import Breaker
from watchline.schemas.records import DeadLetter

log = structlog.get_logger(__name__)


class Breakers:
    """One breaker a topic; what Postgres refused is not counted, for it says nothing about the bytes."""

    def __init__(self, *, window: int, share: float) -> None:
        self._window, self._share = window, share
        self._of: dict[str, Breaker] = {}

    def note(self, items: Iterable[Incoming]) -> None:
        """Count a batch that is stored; raises WatchlineError when too many records of a topic are bad."""
        seen: dict[str, int] = {}
        bad: dict[str, list[tuple[int, str]]] = {}
        for item in items:
            topic = item.source.topic
            place = seen.get(topic, 0)
            seen[topic] = place + 1
            if item.bad and isinstance(item.record, DeadLetter):
                bad.setdefault(topic, []).append((place, item.record.reason))
        for topic, records in seen.items():
            breaker = self._of.setdefault(topic, Breaker(topic, window=self._window, share=self._share))
            if flood := breaker.note(records, bad.get(topic, ())):
                error = flood.error()
                log.critical("intake.stopped", **flood.facts(), reason=str(error), hint=error.hint)
                raise error
