"""One pipeline's share of a batch: its row, the events and pulses in order, and what is to be said about them."""

from __future__ import annotations

from uuid import UUID

from watchline.schemas import FeedbackGiven, RunEnded, RunHeartbeat, RunStarted
from watchline.streams.rows import Run, RunsRow, holds_digest, pack_run, remember_digest, unpack_run
from watchline.streams.runs.failures import watch_outcome
from watchline.streams.runs.freshness import notice_change, record_change, stale_at, watch_age
from watchline.streams.runs.incidents import Scene, resolve_incident
from watchline.streams.runs.judgement import Baselines, judge_run
from watchline.streams.runs.merge import merge_end, merge_heartbeat, merge_start
from watchline.streams.runs.records import Brought, record_of
from watchline.streams.runs.timeliness import overdue_at, watch_end, watch_open_runs

KEPT_ENDED = 8  # whole, so that a late start or a second end still merges
KEPT_DIGESTS = 64  # ids only: what comes later for these is passed on and judged no more
KEPT_OPEN = 128
KEPT_WATERMARK = 512  # characters

RunsEvent = RunStarted | RunHeartbeat | RunEnded | FeedbackGiven


class RunsFold:
    """Absorbs the records of one key in order; `close` says what changed and makes the row ready to be written."""

    def __init__(self, scene: Scene, row: RunsRow) -> None:
        self.scene = scene
        self.row = row
        self.baselines = Baselines(row)
        self.changed = False  # whether the row must be written
        self._touched: dict[bytes, tuple[Run, Brought]] = {}
        self._ended: dict[bytes, Run] = {}  # ended runs that this batch made or looked at

    def absorb(self, event: RunsEvent, *, offset: int, now: int, clock: int) -> bool:
        """Fold one event, read at `now` (wall clock) after the pulse `clock`; False when it was absorbed before.

        Times in microseconds.
        """
        if offset <= self.row.offset:
            return False
        self.row.offset, self.changed = offset, True
        self.row.first_seen_at = self.row.first_seen_at or now
        if isinstance(event, FeedbackGiven):
            return True
        run, known = self._find(event.run_id)
        if not known:
            self._pass_on(run, event)
        elif isinstance(event, RunStarted):
            self._touch(run, event, changed=merge_start(run, event))
        elif isinstance(event, RunHeartbeat):
            self._touch(run, event, changed=merge_heartbeat(run, event))
        else:
            self._end(run, event, now=now, clock=clock)
        return True

    def watch(self, at: int, *, offset: int) -> None:
        """Decide what is due at the pulse `at`: overdue runs, stale data; nothing is open for what is not watched."""
        if offset <= self.row.offset:
            return
        before, self.row.offset = self.row.offset, offset
        said = len(self.scene.effects.incidents)
        for incident in list(self.row.incidents):
            if not self.scene.declared.watches(incident.kind, at):
                resolve_incident(self.scene, self.row, incident, at=at, reason="paused")
        late = watch_open_runs(self.scene, self.row, at)
        for run in late:
            self._touched.setdefault(run.run_id, (run, Brought()))
        watch_age(self.scene, self.row, at)
        if late or len(self.scene.effects.incidents) > said:
            self.changed = True
        elif not self.changed:
            self.row.offset = before  # nothing happened, so nothing needs to be written

    def close(self) -> RunsRow:
        """Publish the runs that changed and return the row to write."""
        self.baselines.close()
        scene = self.scene
        for run, brought in self._touched.values():
            scene.effects.runs.append(
                record_of(scene.pipeline, run, brought, epoch=scene.epoch, offset=self.row.offset)
            )
        self._retire()
        return self.row

    def _find(self, run_id: UUID) -> tuple[Run, bool]:
        """The run, made when it is new; the second value is False for one that was retired long ago."""
        identity = run_id.bytes
        for run in reversed(self.row.open):
            if run.run_id == identity:
                return run, True
        ended = self._find_ended(identity)
        if ended is not None:
            return ended, True
        if holds_digest(self.row.digests, identity):
            return Run(identity), False
        run = Run(identity)
        self.row.open.append(run)
        return run, True

    def _find_ended(self, identity: bytes) -> Run | None:
        run = self._ended.get(identity)
        if run is None:
            packed = next((packed for packed in self.row.ended if packed.startswith(identity)), None)
            if packed is not None:
                run = self._ended[identity] = unpack_run(packed)
        return run

    def _end(self, run: Run, event: RunEnded, *, now: int, clock: int) -> None:
        scene, row = self.scene, self.row
        started_before, was_open = run.started_at, run.end is None
        wins = merge_end(run, event)
        self._touch(run, event, changed=wins or run.started_at != started_before, wins=wins)
        if was_open:
            row.open.remove(run)
            self._ended[run.run_id] = run
        if not wins:
            return
        watch_end(scene, row, run)
        judge_run(scene, row, run, event.metrics, self.baselines)
        watch_outcome(scene, row, run, event.error)
        if record_change(row, run, now) and row.last_change_at is not None:
            notice_change(scene, row, max(clock, row.last_change_at))

    def _touch(
        self, run: Run, event: RunStarted | RunHeartbeat | RunEnded, *, changed: bool, wins: bool = True
    ) -> None:
        if changed:
            _, brought = self._touched.setdefault(run.run_id, (run, Brought()))
            brought.take(event, wins=wins)

    def _pass_on(self, run: Run, event: RunStarted | RunHeartbeat | RunEnded) -> None:
        """Let the sink merge an event of a run that the row no longer holds; nothing is judged twice."""
        held, _ = self._touched.setdefault(run.run_id, (run, Brought()))
        if isinstance(event, RunStarted):
            merge_start(held, event)
        elif isinstance(event, RunEnded):
            self._touch(held, event, changed=merge_end(held, event))
            return
        self._touch(held, event, changed=isinstance(event, RunStarted))

    def _retire(self) -> None:
        """Keep the row small: ended runs are packed, old ones leave only a digest of their id."""
        row = self.row
        packed = {held[:16]: held for held in row.ended}
        for identity, run in self._ended.items():
            _drop_long_watermarks(run)
            packed[identity] = pack_run(run)
        retired = [*list(packed)[:-KEPT_ENDED], *(run.run_id for run in row.open[:-KEPT_OPEN])]
        row.ended, row.open = list(packed.values())[-KEPT_ENDED:], row.open[-KEPT_OPEN:]
        for identity in retired:
            row.digests = remember_digest(row.digests, identity, KEPT_DIGESTS)


def _drop_long_watermarks(run: Run) -> None:
    """The sink has them, and a null never overwrites."""
    if len(run.watermark or "") + len(run.next_watermark or "") > KEPT_WATERMARK:
        run.watermark = run.next_watermark = None
    if run.end and len(run.end.next_watermark or "") > KEPT_WATERMARK:
        run.end.next_watermark = None


def next_deadline(scene: Scene, row: RunsRow, at: int) -> int | None:
    """The next time at which `watch` may decide something new, after `at`; None when nothing is pending."""
    limit = scene.declared.timeliness_limit
    dues = [due for run in row.open if (due := overdue_at(run, limit)) is not None]
    stale = stale_at(scene, row)
    if stale is not None and stale <= at:  # stale already, so a mute hides it: look again when it ends
        stale = scene.declared.unmuted_at("freshness", at) if scene.declared.active else None
    if stale is not None:
        dues.append(stale)
    return min(dues, default=None)
