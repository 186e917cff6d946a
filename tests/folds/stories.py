"""Any story that a partition may tell: strategies for events, declarations and pulses, extreme ones among them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from hypothesis import settings
from hypothesis import strategies as st

from folds.log import NOON, PIPELINE, identity
from watchline.schemas import AnomalyRule, Mute, PipelineDeclared, RunEnded, decode
from watchline.schemas.encoding import write
from watchline.streams.declarations import Declared, fold_declaration, read_declaration
from watchline.streams.effects import Effects
from watchline.streams.rows import DeclarationRow
from watchline.streams.runs.fold import RunsEvent

thoroughly = settings(deadline=None, database=None, max_examples=int(os.environ.get("WATCHLINE_TEST_EXAMPLES", "100")))
Step = RunsEvent | datetime | Declared  # a datetime is a pulse

OLDEST, NEWEST = datetime(2000, 1, 1, tzinfo=UTC), NOON + timedelta(hours=24)
HUGE = 2**63 - 1
TEN_YEARS_MS = 10 * 366 * 86_400_000

near = st.integers(-180, 180).map(lambda minutes: NOON + timedelta(minutes=minutes))
moments = st.one_of(near, near, near, st.sampled_from((OLDEST, NEWEST, NOON)))
counts = st.none() | st.integers(0, 50) | st.sampled_from((0, 10**6, HUGE))
texts = st.sampled_from(("1", "2", "9" * 600, "ü\u202e<!channel>", ""))
maps = st.dictionaries(st.sampled_from(("a", "b")), st.sampled_from(("1", "2")), max_size=2)
metrics = st.dictionaries(
    st.sampled_from(("m", "n", "<!here>", "inserts", "x" * 200)),
    st.sampled_from((1e308, -1e308, 5e-324, 0.0, -0.0, 1.0, 2.5, -3.0)),
    max_size=4,
)


@st.composite
def run_events(draw: st.DrawFn, runs: int = 4) -> RunsEvent:
    """An event of one of a few runs, as the decoder reads it; equal ones are repetitions with one id."""
    kind = draw(st.sampled_from(("started", "heartbeat", "ended", "ended", "ended", "feedback", *COMMANDS)))
    fields = draw(FIELDS[kind])
    at, run = draw(moments), draw(st.integers(1, runs))
    return event_of(kind, run, at, fields)


def event_of(kind: str, run: int, at: datetime, fields: dict[str, Any]) -> RunsEvent:
    """The event that these words describe."""
    name = {"feedback": "feedback.given"}.get(kind, kind if kind in COMMANDS else f"run.{kind}")
    document = {
        "event_type": name,
        "event_id": str(identity(name, run, at, sorted(fields.items(), key=str))),
        "occurred_at": at.isoformat(),
        "pipeline": PIPELINE,
        **({"by": "ada@etl-1"} if kind in COMMANDS else {"run_id": str(identity("run", run))}),
        **{key: value for key, value in fields.items() if value is not None},
    }
    event = decode(orjson.dumps(document), now=NOON)
    assert isinstance(event, RunsEvent)
    return event


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


COMMANDS = ("incident.acknowledged", "incident.resolved", "incident.snoozed", "pipeline.muted", "pipeline.unmuted")
CHECKS = ("freshness", "timeliness", "anomaly", "failure", "lost", "all")
# Which of the incidents so far is meant: nobody knows their ids beforehand, see `aimed`.
incidents = st.integers(0, 20).map(lambda n: str(UUID(int=n)))
about_incident = st.fixed_dictionaries({"incident_id": incidents, "note": st.none() | st.just("é" * 600)})
parents = optional(st.sampled_from([str(identity("mother", n)) for n in range(3)]))
FIELDS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "started": st.fixed_dictionaries(
        {
            "parent_run_id": parents,
            "attempt": optional(st.sampled_from((1, 2, 2**31 - 1))),
            "watermark": optional(texts),
            "next_watermark": optional(texts),
            "heartbeat_seconds": optional(st.sampled_from((1e-300, 60.0, 3e8))),
            "nominal_at": optional(moments.map(datetime.isoformat)),
            "backfill": optional(st.booleans()),
            "labels": optional(maps),
            "metadata": optional(maps),
            "producer": optional(st.sampled_from(({"host": "h1"}, {"host": "h2"}))),
        }
    ),
    "heartbeat": st.just({}),
    "ended": st.fixed_dictionaries(
        {
            "attempt": optional(st.sampled_from((1, 2, 2**31 - 1))),
            "status": st.sampled_from(("succeeded", "succeeded", "succeeded", "failed", "aborted", "exploded")),
            "started_at": optional(moments.map(datetime.isoformat)),
            "duration_ms": optional(st.sampled_from((0, 1, 60_000, 3_600_000, TEN_YEARS_MS))),
            "inserts": counts,
            "updates": counts,
            "deletes": counts,
            "total_rows": counts,
            "metrics": optional(metrics),
            "next_watermark": optional(texts),
            "error": optional(st.sampled_from(("boom", "é" * 8000))),
            "backfill": optional(st.booleans()),
            "labels": optional(maps),
            "metadata": optional(maps),
        }
    ),
    "feedback": st.fixed_dictionaries(
        {
            "verdict": st.sampled_from(("expected", "false_positive", "new_normal")),
            "metrics": optional(st.sampled_from((["inserts"], ["m"], ["nothing"]))),
        }
    ),
    "incident.acknowledged": about_incident,
    "incident.resolved": about_incident,
    "incident.snoozed": st.fixed_dictionaries({"incident_id": incidents, "until": near.map(datetime.isoformat)}),
    "pipeline.muted": st.fixed_dictionaries(
        {"check": optional(st.sampled_from(CHECKS)), "until": near.map(datetime.isoformat)}
    ),
    "pipeline.unmuted": st.fixed_dictionaries({"check": optional(st.sampled_from(CHECKS))}),
}

mutes = st.builds(
    Mute,
    check=st.sampled_from(CHECKS),
    until=st.none() | near | st.sampled_from((datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))),
)
rules = st.builds(
    AnomalyRule,
    metric=st.sampled_from(("*", "inserts", "m", "duration_seconds")),
    active=st.booleans(),
    z_limit=st.sampled_from((None, 2.0, 10.0)),
    min_runs=st.sampled_from((3, 10)),
    direction=st.sampled_from(("both", "high", "low")),
    scale=st.sampled_from(("log", "linear")),
    min_relative_change=st.sampled_from((0.0, 0.2, 100.0)),
    min_absolute_change=st.sampled_from((None, 0.0, 1e308)),
    min_value=st.sampled_from((None, -1e308, 1.0)),
    max_value=st.sampled_from((None, 1e308, 10.0)),
)
retries: st.SearchStrategy[dict[str, Any] | None] = st.none() | st.builds(
    dict, limit=st.sampled_from((1, 2)), wait_seconds=st.sampled_from((60.0, 1800.0)), alert_each=st.booleans()
)
schedules = st.fixed_dictionaries(
    {
        "cron": st.sampled_from(("* * * * *", "*/20 * * * *", "50 11 * * *", "0 0 31 2 1", "x")),
        "timezone": st.sampled_from(("UTC", "UTC", "Asia/Tokyo", "Europe/Berlin", "Mars/X", "../x")),
        "grace_seconds": st.sampled_from((1e-300, 60.0, 1800.0, 10 * 366 * 86_400.0)),
        "early_seconds": st.sampled_from((0.0, 60.0, 10 * 366 * 86_400.0)),
        "exclude": st.sampled_from(((), ("2026-11-29",), ("2026-11-01/2026-11-30",))),
        "paused_until": st.none() | near,
    }
)
keep_firing: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict, check=st.sampled_from(("freshness", "anomaly", "failure")), seconds=st.sampled_from((0.0, 60.0, 7200.0))
)
deadlines = st.none() | st.fixed_dictionaries(
    {
        "cron": st.sampled_from(("* * * * *", "*/20 * * * *", "0 12 * * *", "30 11,13 * * *", "0 0 31 2 1")),
        "timezone": st.sampled_from(("UTC", "UTC", "Asia/Tokyo", "Europe/Berlin")),
    }
)
completes = deadlines.flatmap(lambda times: st.just(times) if times is None else days_of(times))
limits = st.none() | st.sampled_from((1e-300, 60.0, 1800.0, 10 * 366 * 86_400.0))


def days_of(times: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The times with the days that have to be complete by then."""
    return st.sampled_from((1, 2, 366)).map(lambda days: times | {"days": days})


@st.composite
def declarations(draw: st.DrawFn) -> Declared:
    """What a declaration says once it was read back from its row."""
    age, duration = draw(limits), draw(limits)
    event = PipelineDeclared.model_validate(
        {
            "event_id": UUID(int=1),
            "occurred_at": draw(moments),
            "pipeline": PIPELINE,
            "active": draw(st.sampled_from((True, True, True, False))),
            "freshness": {"max_age_seconds": age, "complete_by": draw(completes)},
            "timeliness": {"max_duration_seconds": duration, "done_by": draw(deadlines)},
            "mutes": draw(st.lists(mutes, max_size=2)),
            "retries": draw(retries),
            "keep_firing": draw(st.lists(keep_firing, max_size=2)),
            "anomaly_rules": draw(st.lists(rules, max_size=3)),
            "schedule": draw(schedules),
        }
    )
    row = DeclarationRow(0)
    read = decode(write(event), now=NOON)
    assert isinstance(read, PipelineDeclared)
    fold_declaration(row, read, epoch=0, effects=Effects())
    return read_declaration(row)


def stories(*, runs: int = 4, most: int = 25) -> st.SearchStrategy[list[Step]]:
    """Events, pulses and declarations in any order."""
    return st.lists(st.one_of(run_events(runs), run_events(runs), near, declarations()), min_size=1, max_size=most)


def names_attempts_or_not(told: Iterable[RunsEvent]) -> bool:
    """Whether all ends of a run name their attempt or none does: one job reports all of it."""
    ends = {(event.run_id, event.attempt is None) for event in told if isinstance(event, RunEnded)}
    return len(ends) == len({run_id for run_id, _ in ends})
