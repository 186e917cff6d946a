"""One pipeline's share of a batch: its row, the events and pulses in order, and what is to be said about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from watchline.schemas import FeedbackGiven, RunEnded, RunHeartbeat, RunStarted
from watchline.schemas.events import Command
from watchline.streams.rows import Run, RunsRow, pack_run, unpack_run
from watchline.streams.runs.answers import take_answer
from watchline.streams.runs.baselines import Baselines
from watchline.streams.runs.changes import Changes
from watchline.streams.runs.commands import obey, wake_at, watch_snoozes
from watchline.streams.runs.failures import hold_due_at, is_held, notice_attempt, watch_held, watch_outcome
from watchline.streams.runs.freshness import freshness_due_at, notice_change, record_change, watch_freshness
from watchline.streams.runs.hidden import hide, tell_hidden, unhidden_at
from watchline.streams.runs.hysteresis import release_at, watch_cleared
from watchline.streams.runs.incidents import Scene, resolve_incident
from watchline.streams.runs.judgement import judge_run
from watchline.streams.runs.liveness import (
    forgotten_at,
    incident_of,
    is_seen_ahead,
    lost_at,
    meet_runs,
    notice_end,
    notice_sign,
    watch_silence,
)
from watchline.streams.runs.memory import is_over, notice_over, retire
from watchline.streams.runs.merge import is_superseded, merge_event, supersedes
from watchline.streams.runs.punctuality import deadline_due_at, notice_success, watch_deadline
from watchline.streams.runs.timeliness import (
    is_pardoned,
    learn_limit,
    overdue_at,
    pardon,
    postpone,
    watch_end,
    watch_open_runs,
)
from watchline.streams.slots.book import SlotBook, start_due_at

KEPT_ENDED = 8  # whole, so that a late start or a second end still merges
KEPT_OPEN = 128

RunsEvent = RunStarted | RunHeartbeat | RunEnded | FeedbackGiven | Command


class RunsFold:
    """Absorbs the records of one key in order; `close` says what changed and makes the row ready to be written."""

    def __init__(self, scene: Scene, row: RunsRow) -> None:
        self.scene = with_mutes(scene, row)
        self.row = row
        self.baselines = Baselines(row)
        self.book = SlotBook(self.scene, row, self._known)
        self.changed = False  # whether the row must be written
        self._changes = Changes(scene)
        self._packed = {held[:16]: held for held in row.ended}  # oldest first
        self._ended: dict[bytes, Run] = {}  # those of them that this batch made or looked at

    def absorb(self, event: RunsEvent, *, offset: int, now: int, clock: int) -> None:
        """Fold one event, read at `now` (wall clock) after the pulse `clock`, unless it was absorbed before.

        Times in microseconds.
        """
        if offset <= self.row.offset:
            return
        self.row.offset, self.changed = offset, True
        if isinstance(event, FeedbackGiven):
            take_answer(self.scene, self.row, event, self.baselines, now=now)
            return
        if isinstance(event, Command):
            obey(self.scene, self.row, event, now=now)
            self.scene = with_mutes(self.scene, self.row)
            self.book.follow(self.scene)
            return
        identity = event.run_id.bytes
        run = self._find(identity)
        if run is None and is_over(self.row, event, clock):
            self._pass_on(identity, event)
        elif isinstance(event, RunEnded):
            self._end(run or self._new(identity), event, now=now, clock=clock)
        else:
            self._go_on(run or self._begin(identity, clock), event, clock=clock)

    def watch(self, at: int, *, offset: int, resumed_at: int = 0) -> None:
        """Decide what is due at the pulse `at`: overdue runs, stale data, missed starts and deadlines.

        Nothing is open for what is not watched. `resumed_at` is the pulse that ended the last gap of pulses.
        """
        if offset <= self.row.offset:
            return
        before, self.row.offset, unsaid = self.row.offset, offset, unsaid_of(self.row)
        said = len(self.scene.effects.incidents)
        for incident in list(self.row.incidents):
            if not self.scene.declared.watches(incident.kind, at):
                resolve_incident(self.scene, self.row, incident, at=at, reason="paused")
                hide(self.row, incident)
        pardon(self.scene, self.row, at)
        met, postponed = meet_runs(self.row, at, resumed_at), postpone(self.scene, self.row, resumed_at)
        changed = [*watch_silence(self.scene, self.row, at), *watch_open_runs(self.scene, self.row, at)]
        tell_hidden(self.scene, self.row, at)
        for run in changed:
            self._changes.touch(run)
        forgotten = self._forget(at)
        given_up = watch_held(self.scene, self.row, at)
        fresh = watch_freshness(self.scene, self.row, at, resumed_at=resumed_at)
        slots = self.book.watch(at, resumed_at=resumed_at)
        due = watch_deadline(
            self.scene, self.row, at, resumed_at=resumed_at, known=self._known(), baselines=self.baselines
        )
        watch_cleared(self.scene, self.row, at)
        watch_snoozes(self.scene, self.row, at)
        silently = met or postponed or forgotten or given_up or fresh or slots or due or unsaid_of(self.row) != unsaid
        if changed or silently or len(self.scene.effects.incidents) > said:
            self.changed = True
        elif not self.changed:
            self.row.offset = before  # nothing happened, so nothing needs to be written

    def close(self) -> RunsRow:
        """Publish the runs that changed and return the row to write."""
        self.baselines.close()
        self.book.close()
        self._changes.publish(offset=self.row.offset)
        self.row.ended = [
            pack_run(self._ended[identity]) if identity in self._ended else packed
            for identity, packed in self._packed.items()
        ]
        return self.row

    def _find(self, identity: bytes) -> Run | None:
        for run in reversed(self.row.open):
            if run.run_id == identity:
                return run
        if identity in self._packed and identity not in self._ended:
            self._ended[identity] = unpack_run(self._packed[identity])
        return self._ended.get(identity)

    def _known(self) -> Iterator[Run]:
        """The runs that the row holds whole."""
        yield from self.row.open
        for identity, packed in self._packed.items():
            yield self._ended[identity] if identity in self._ended else unpack_run(packed)

    def _begin(self, identity: bytes, clock: int) -> Run:
        run = self._new(identity)
        self._keep_open(run, clock)
        return run

    def _new(self, identity: bytes) -> Run:
        self._changes.let_go(identity, offset=self.row.offset - 1)
        return Run(identity)

    def _keep_open(self, run: Run, clock: int) -> None:
        """Watch an open run; the one that has been open longest may have to go, and its incident with it."""
        self.row.open.append(run)
        if len(self.row.open) > KEPT_OPEN:
            self._give_up(self.row.open[0], at=clock)

    def _forget(self, at: int) -> bool:
        """Give up the open runs that nobody has heard of for weeks; whether there were any."""
        forgotten = [run for run in self.row.open if (due := forgotten_at(run)) is not None and due <= at]
        for run in forgotten:
            self._give_up(run, at=at)
        return bool(forgotten)

    def _give_up(self, run: Run, *, at: int) -> None:
        self.row.open.remove(run)
        notice_over(self.row, run)
        retire(self.row, run.run_id)
        if incident := incident_of(self.row, run.run_id):
            resolve_incident(self.scene, self.row, incident, at=at, reason="expired")

    def _go_on(self, run: Run, event: RunStarted | RunHeartbeat, *, clock: int) -> None:
        ended, again = run.end is not None, isinstance(event, RunStarted) and event.attempt > (run.attempt or 1)
        if not self._merge(run, event):
            return
        if isinstance(event, RunStarted):
            self.book.place(run, clock=clock)
        if run.end is not None:
            watch_end(self.scene, self.row, run)  # only now it is known how long it took
            return
        if ended:  # another attempt has begun: the run goes on
            self._packed.pop(run.run_id, None)
            self._ended.pop(run.run_id, None)
            self._keep_open(run, clock)
        notice_sign(self.scene, self.row, run, clock=clock, again=again)
        if isinstance(event, RunStarted):
            notice_attempt(self.scene, self.row, run, event.attempt, clock=clock)
            learn_limit(self.scene, run, self.baselines)

    def _end(self, run: Run, event: RunEnded, *, now: int, clock: int) -> None:
        scene, row, held = self.scene, self.row, run.end
        if self._merge(run, event):
            self.book.place(run, clock=clock)
        if run.end is None or run.end is held:
            return
        if held is None:
            row.open = [other for other in row.open if other is not run]
            self._keep_ended(run)
        notice_end(scene, row, run)
        if not is_held(scene, row, run, now=now):
            watch_end(scene, row, run)
        judge_run(scene, row, run, event.metrics, self.baselines)
        watch_outcome(scene, row, run, event.error, now=now, clock=clock)
        notice_success(scene, row, run, now=now, baselines=self.baselines)
        if record_change(row, run, now):
            notice_change(scene, row, clock)

    def _keep_ended(self, run: Run) -> None:
        """Keep the newest ended runs whole; an older one leaves only a digest of its id.

        At once and not at the end of the batch, so that it does not matter where a batch ends.
        """
        notice_over(self.row, run)
        self._packed[run.run_id], self._ended[run.run_id] = b"", run
        if len(self._packed) > KEPT_ENDED:
            oldest = next(iter(self._packed))
            del self._packed[oldest]
            self._ended.pop(oldest, None)
            retire(self.row, oldest)

    def _pass_on(self, identity: bytes, event: RunStarted | RunHeartbeat | RunEnded) -> None:
        """Let the sink merge an event of a run that the row no longer holds; nothing is judged twice."""
        self._merge(self._changes.stranger(identity), event)

    def _merge(self, run: Run, event: RunStarted | RunHeartbeat | RunEnded) -> bool:
        late = is_superseded(event, run)
        if supersedes(event, run):
            self._changes.set_aside(run, offset=self.row.offset - 1)
        replaces = run.end is not None if isinstance(event, RunEnded) else run.start_order is not None
        changed = merge_event(run, event)
        if changed:
            brought = self._changes.touch(run)
            brought.take(event, run, replaces=replaces)
            brought.take_long_watermarks(run)
        if late and isinstance(event, RunEnded):
            self._changes.publish_late(run, event, offset=self.row.offset - 1)
        return changed


def unsaid_of(row: RunsRow) -> tuple[object, ...]:
    """What a pulse may change of a row without saying anything."""
    return tuple(row.quiet), *(incident.cleared_at for incident in row.incidents)


def with_mutes(scene: Scene, row: RunsRow) -> Scene:
    """The scene with the mutes that were given by command."""
    declared = scene.declared.with_mutes(row.mutes)
    return scene if declared is scene.declared else replace(scene, declared=declared)


def next_deadline(scene: Scene, row: RunsRow, at: int) -> int | None:
    """The next time at which `watch` may decide something new, after `at`; None when nothing is pending."""
    scene = with_mutes(scene, row)
    limit = scene.declared.timeliness_limit
    dues = [
        due for run in row.open for due in (overdue_at(run, limit), lost_at(run), forgotten_at(run)) if due is not None
    ]
    others = (
        freshness_due_at(scene, row, at), hold_due_at(scene, row, at), start_due_at(scene, row, at),
        deadline_due_at(scene, row, at), unhidden_at(scene, row, at), release_at(scene, row, at), wake_at(row),
    )  # fmt: skip
    dues += [due for due in others if due is not None]
    unwatched = any(not scene.declared.watches(incident.kind, at) for incident in row.incidents)
    unwatched = unwatched or any(is_seen_ahead(run, at) for run in row.open)
    if unwatched or any(is_pardoned(scene, row, run, at) for run in row.open):
        dues.append(at)  # it must be closed, even if the worker that was told so is gone
    return min(dues, default=None)
