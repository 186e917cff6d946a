"""The slots of one pipeline, in order with its events and pulses.

A pulse says that a slot has come and that its grace has run out; a start that is read finds its slot, before or after
that. Only pulses decide that a start is missing; a slot whose time ran out in a gap of pulses is `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

import structlog

from watchline.schemas.flags import CLOCK_SKEW
from watchline.schemas.records import ExcuseReason
from watchline.streams.pulses import is_ahead
from watchline.streams.rows import Expected, Run, RunsRow, Slot
from watchline.streams.runs.incidents import Scene
from watchline.streams.runs.merge import begun_at
from watchline.streams.slots.matching import give_up_start, meant_at, slot_for, take_start
from watchline.streams.slots.misses import KIND, notice_start, report_miss, take_back_miss
from watchline.streams.slots.records import record_of
from watchline.streams.slots.timetable import Timetable

LISTED = 30  # slots that may come due between two looks; those after them stand in the row of the last one
KEPT_DECIDED = 12  # so that a start that is heard of late finds its slot
KEPT_PENDING = 32  # of a grace that outlasts so many slots the rest does not count
MOST_PENDING = 64  # where events come without pulses

log = structlog.get_logger()


def timetable_of(scene: Scene) -> Timetable | None:
    """The timetable in force; None without a schedule, and while the pipeline is inactive."""
    return scene.declared.timetable if scene.declared.active else None


def start_due_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When a pulse may have something to decide about starts: a slot comes, or its grace runs out."""
    timetable, expected = timetable_of(scene), row.expected
    if expected is None:
        return None if timetable is None else at
    if timetable is None or expected.timetable != timetable.digest or is_ahead(expected.reckoned_at, at):
        return at
    dues = [slot.due + expected.grace for slot in expected.slots if slot.state == "expected"]
    if expected.slots and expected.slots[-1].due > expected.reckoned_at:
        dues.append(expected.slots[-1].due)
    return min(dues, default=None)


class SlotBook:
    """What one batch makes of the slots of a row; `close` publishes those that changed."""

    __slots__ = ("_known", "_row", "_scene", "_touched")

    def __init__(self, scene: Scene, row: RunsRow, known: Callable[[], Iterable[Run]]) -> None:
        """`known` gives the runs that the row holds whole."""
        self._scene, self._row, self._known = scene, row, known
        self._touched: dict[int, tuple[Slot, Expected]] = {}

    def follow(self, scene: Scene) -> None:
        """Go on under other mutes."""
        self._scene = scene

    def watch(self, at: int, *, resumed_at: int) -> bool:
        """Decide what is due at the pulse `at`, the last gap of pulses having ended at `resumed_at`.

        A schedule that is new or another one counts from `at`; of the known runs some may have begun a little early.
        Returns whether anything changed.
        """
        timetable, expected = timetable_of(self._scene), self._row.expected
        if timetable is None:
            return self._dismiss("inactive", at)
        if expected is None or expected.timetable != timetable.digest:
            self._dismiss("changed", at)
            self._begin(timetable, at)
            return True
        turned = is_ahead(expected.reckoned_at, at)
        if turned:
            self._turn_back(expected, timetable, at)
        extended = self._extend(expected, timetable, at)
        decided = self._decide(expected, timetable, at, resumed_at)
        if turned or extended or decided:
            expected.reckoned_at = at
            _trim(expected)
        return turned or extended or decided

    def place(self, run: Run, *, clock: int) -> None:
        """Find the slot that `run` came for, when its start is read or becomes known better."""
        expected = self._row.expected
        if expected is None:
            return
        timetable = timetable_of(self._scene)
        if timetable is None or expected.timetable != timetable.digest:
            return
        slot = self._slot_for(run, expected, timetable)
        given_up = [other for other in expected.slots if other.run_id == run.run_id and other is not slot]
        for other in given_up:
            give_up_start(other)
            self._touch(other)
        if slot is not None:
            before = slot.state
            if take_start(slot, run, grace=expected.grace, at=clock):
                self._touch(slot)
                notice_start(self._scene, self._row, slot, before=before)
        for second in self._known() if given_up else ():
            if second.run_id != run.run_id:
                self.place(second, clock=clock)  # it may have come for that slot too
        _trim(expected)

    def close(self) -> None:
        """Publish the slots that changed in this batch, each once."""
        if not self._touched:
            return
        scene, unclear = self._scene, 0
        for slot, expected in self._touched.values():
            scene.effects.state.append(
                record_of(scene.pipeline, slot, expected, epoch=scene.epoch, offset=self._row.offset)
            )
            unclear += slot.state == "unknown"
        if unclear:
            log.info("slots.unknown", pipeline=scene.pipeline, slots=unclear)
        self._touched.clear()

    def _slot_for(self, run: Run, expected: Expected, timetable: Timetable) -> Slot | None:
        """The slot that a run came for, if it is listed; those up to its start are, unless its clock runs ahead."""
        meant, begun = meant_at(run), begun_at(run)
        if meant is None or begun is None or not expected.slots:
            return None
        if CLOCK_SKEW not in run.flags and begun >= expected.slots[-1].due:
            self._extend(expected, timetable, begun)
            self._bound(expected, begun)
        last, attempt = expected.slots[-1], run.attempt or 1
        if meant <= last.due:
            return slot_for(expected.slots, meant, early=timetable.early, attempt=attempt)
        following = map(Slot, islice(timetable.after(last.due), 1))
        found = slot_for([last, *following], meant, early=timetable.early, attempt=attempt)
        return found if found is last else None

    def _begin(self, timetable: Timetable, at: int) -> None:
        """Expect the first slot after `at`: what was due before is nobody's business."""
        expected = Expected(timetable.digest, timetable.timezone, timetable.grace, at, [])
        self._row.expected = expected
        for due in islice(timetable.after(at), 1):
            self._append(expected, due)
        for run in self._known():
            meant = meant_at(run)
            if meant is not None and meant >= at - timetable.early:
                self.place(run, clock=at)

    def _dismiss(self, reason: ExcuseReason, at: int) -> bool:
        """Expect nothing any more: nobody missed what was still to come."""
        expected = self._row.expected
        if expected is None:
            return False
        for slot in expected.slots:
            if slot.state == "expected":
                slot.state, slot.reason, slot.decided_at = "excused", reason, at
                self._touch(slot)
        self._row.expected = None
        return True

    def _turn_back(self, expected: Expected, timetable: Timetable, at: int) -> None:
        """A clock that ran ahead was put right: what was decided too early is open again, what was started stays."""
        kept = [slot for slot in expected.slots if slot.due <= at or slot.run_id is not None]
        for slot in kept:
            if slot.until is not None and slot.until > at:
                slot.until = None
                self._touch(slot)
            if slot.state in ("missed", "unknown") and slot.due + expected.grace > at:
                give_up_start(slot)
                self._touch(slot)
        expected.slots, expected.reckoned_at = kept, at
        if not kept or kept[-1].due <= at:
            for due in islice(timetable.after(max([at, *(slot.due for slot in kept)])), 1):
                self._append(expected, due)
        take_back_miss(self._scene, self._row, expected, at=at)

    def _extend(self, expected: Expected, timetable: Timetable, until: int) -> bool:
        """List the slots that are due by `until` and the one after; whether there was anything to list.

        Of very many the last one listed stands for the rest, as `unknown`: no look comes so late but after a gap.
        """
        slots = expected.slots
        if not slots or slots[-1].due > until:
            return False
        if slots[-1].due <= expected.reckoned_at:
            return False  # there is none after it
        for due in islice(timetable.after(slots[-1].due), LISTED):
            self._append(expected, due)
            if due > until:
                return True
        if slots[-1].due <= until and (following := next(timetable.after(until), None)) is not None:
            slots[-1].state, slots[-1].until, slots[-1].decided_at = "unknown", until, until
            self._append(expected, following)
        return True

    def _bound(self, expected: Expected, at: int) -> None:
        """Give up on the oldest slots when events come for so many later ones and no pulse does."""
        pending = [slot for slot in expected.slots if slot.state == "expected"]
        for slot in pending[:-MOST_PENDING]:
            slot.state, slot.decided_at = "unknown", at
            self._touch(slot)

    def _append(self, expected: Expected, due: int) -> None:
        expected.slots.append(Slot(due))
        self._touched[due] = (expected.slots[-1], expected)

    def _decide(self, expected: Expected, timetable: Timetable, at: int, resumed_at: int) -> bool:
        """Decide the slots whose grace has run out at `at`; whether there were any."""
        pending = [slot for slot in expected.slots if slot.state == "expected"]
        ripe = len(pending) - 1 - KEPT_PENDING
        decided = [slot for n, slot in enumerate(pending) if slot.due + expected.grace <= at or n < ripe]
        for slot in decided:
            ends = min(slot.due + expected.grace, at)
            slot.decided_at, slot.reason = at, timetable.excuse(slot.due)
            if slot.reason is None and not self._scene.declared.watches(KIND, ends):
                slot.reason = "muted"
            slot.state = "excused" if slot.reason else "unknown" if ends <= resumed_at else "missed"
            self._touch(slot)
        missed = [slot for slot in decided if slot.state == "missed"]
        if missed:
            report_miss(self._scene, self._row, timetable, missed[-1], at=at)
        return bool(decided)

    def _touch(self, slot: Slot) -> None:
        if self._row.expected is not None:
            self._touched[slot.due] = (slot, self._row.expected)


def _trim(expected: Expected) -> None:
    """Keep the newest decided slots, however they were decided, and whatever is open."""
    decided = sum(slot.state != "expected" for slot in expected.slots[:-1])
    surplus = decided - KEPT_DECIDED
    if surplus <= 0:
        return
    kept = []
    for slot in expected.slots:
        if surplus > 0 and slot.state != "expected" and slot is not expected.slots[-1]:
            surplus -= 1
        else:
            kept.append(slot)
    expected.slots = kept
