"""The runs that a batch has changed, and their way to the sink: once each, unless an attempt ends in between."""

from __future__ import annotations

from watchline.schemas import RunEnded
from watchline.streams.rows import Run
from watchline.streams.runs.incidents import Scene
from watchline.streams.runs.merge import attempt_of
from watchline.streams.runs.records import Brought, record_of


class Changes:
    """Runs of one pipeline that changed, each with what the events of the batch brought for it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._touched: dict[bytes, tuple[Run, Brought]] = {}

    def touch(self, run: Run) -> Brought:
        """Publish `run` at the end of the batch; what is brought for it goes along."""
        return self._touched.setdefault(run.run_id, (run, Brought()))[1]

    def stranger(self, identity: bytes) -> Run:
        """A run that the row no longer holds: what this batch does not bring of it is unknown."""
        return self._touched.setdefault(identity, (Run(identity), Brought(partial=True)))[0]

    def let_go(self, identity: bytes, *, offset: int) -> None:
        """Publish what was touched of a run that the row does not hold: it begins to hold another one of this id."""
        if identity in self._touched:
            self._publish(*self._touched.pop(identity), offset)

    def set_aside(self, run: Run, *, offset: int) -> None:
        """Publish an attempt that ended in this batch, before the next one takes its place."""
        if run.run_id in self._touched:
            _, brought = self._touched.pop(run.run_id)
            self._publish(run, brought, offset)
            self._touched[run.run_id] = (run, Brought(partial=brought.partial))

    def publish_late(self, run: Run, event: RunEnded, *, offset: int) -> None:
        """Publish the end of an attempt that a later one has followed already: it does not end the run."""
        attempt, brought = attempt_of(run, event), Brought(partial=self._is_partial(run.run_id))
        brought.take(event, attempt, replaces=False)
        self._publish(attempt, brought, offset)

    def publish(self, *, offset: int) -> None:
        """Publish all of them as they stand."""
        for run, brought in self._touched.values():
            self._publish(run, brought, offset)

    def _is_partial(self, identity: bytes) -> bool:
        """Whether a run is one that the row no longer holds."""
        return identity in self._touched and self._touched[identity][1].partial

    def _publish(self, run: Run, brought: Brought, offset: int) -> None:
        scene = self._scene
        scene.effects.runs.append(record_of(scene.pipeline, run, brought, epoch=scene.epoch, offset=offset))
