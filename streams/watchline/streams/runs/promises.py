"""What was promised by the clock: which time comes next, and which one has just passed.

New or changed promises count from the next time on. Nothing is said about a time that passed in a gap of pulses.
"""

from __future__ import annotations

from watchline.schemas.records import IncidentFact
from watchline.streams.pulses import is_ahead
from watchline.streams.rows import OpenIncident, Promise
from watchline.streams.runs.incidents import facts_of
from watchline.streams.slots.timetable import Timetable

DEADLINE_MISSED = "deadline missed"


def promise_due_at(timetable: Timetable | None, promise: Promise | None, at: int) -> int | None:
    """When a pulse may have something to decide: the next time passes, or another timetable counts now."""
    if promise is None:
        return None if timetable is None else at
    if timetable is None or not is_current(promise, timetable) or is_ahead(promise.reckoned_at, at):
        return at
    return promise.next


def is_current(promise: Promise, timetable: Timetable) -> bool:
    """Whether the promise was reckoned by this timetable."""
    return promise.timetable == timetable.digest


def begin_promise(timetable: Timetable, at: int) -> Promise:
    """A promise that counts from the first time after `at`: what a clock ahead has judged is open again."""
    previous = timetable.before(at)
    since = None if previous is None else timetable.before(previous - 1)
    return Promise(timetable.digest, at, next(timetable.after(at), None), previous, since)


def advance(promise: Promise, timetable: Timetable, at: int) -> bool:
    """Move on to the newest time up to `at`, of several the last; whether one has passed."""
    passed = promise.next
    if passed is None or passed > at:
        return False
    newest = timetable.before(at) or passed
    promise.since = promise.previous if newest == passed else timetable.before(newest - 1)
    promise.previous, promise.next = newest, next(timetable.after(newest), None)
    promise.reckoned_at, promise.missed, promise.warned, promise.untold = at, False, False, False
    return True


def missed_facts(incident: OpenIncident | None) -> list[IncidentFact]:
    """What an incident of failures says about a deadline that was missed meanwhile."""
    return [] if incident is None else [fact for fact in facts_of(incident) if fact.name == DEADLINE_MISSED]
