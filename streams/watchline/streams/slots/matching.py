"""Which slot a run came for: pure functions of slots and times, so that the order of events does not matter."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from watchline.streams.rows import Run, Slot
from watchline.streams.runs.merge import begun_at


def meant_at(run: Run) -> int | None:
    """The time by which a run is matched: its nominal one if it has any, else when it began.

    None for a backfill, which comes for no slot, and when neither is known.
    """
    if run.backfill or begun_at(run) is None:
        return None
    return begun_at(run) if run.nominal_at is None else run.nominal_at


def slot_for(slots: Sequence[Slot], at: int, *, early: int, attempt: int) -> Slot | None:
    """The slot that a run at `at` came for: the newest one due, or the next one if that is nearer and at most `early`
    away. A further attempt repeats what began before, so it comes for no slot that is not due yet.
    """
    place = bisect_right(slots, at, key=lambda slot: slot.due)
    last = slots[place - 1] if place else None
    following = slots[place] if place < len(slots) else None
    if following is not None and attempt == 1:
        ahead = following.due - at
        if ahead <= early and (last is None or ahead < at - last.due):
            return following
    stands_for_others = last is not None and last.until is not None and at <= last.until
    return None if stands_for_others else last


def take_start(slot: Slot, run: Run, *, grace: int, at: int) -> bool:
    """Note that `run` came for `slot`; whether that changed anything. Of two runs the one that began first counts."""
    begun = begun_at(run)
    if begun is None:
        return False
    if slot.run_id is not None and slot.run_id != run.run_id:
        if (begun, run.run_id) >= (slot.started_at or 0, slot.run_id):
            return False
    elif slot.run_id == run.run_id and slot.started_at == begun:
        return False
    slot.run_id, slot.started_at, slot.reason = run.run_id, begun, None
    slot.state, slot.decided_at = "met" if begun <= slot.due + grace else "late", max(at, begun)
    return True


def give_up_start(slot: Slot) -> None:
    """Expect a start again: the run that was taken for it came for another slot."""
    slot.state, slot.run_id, slot.started_at, slot.decided_at = "expected", None, None, None
