"""What jobs write down: plain dataclasses, as a short job can't afford to load pydantic.

They mirror `watchline.schemas.declaration` and refuse nothing; `watchline.sdk.declaration` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from watchline.sdk.duration import Duration

WatermarkKind = Literal["timestamp", "integer", "text"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When runs are expected: a cron line (five fields, or @daily and its like) in an IANA zone.

    A start may come `early` before and `grace` after it is due. It is excused on the local dates of `exclude` (a date,
    "2026-12-24", or a range "2026-12-24/2027-01-01") and until `paused_until` (aware).
    """

    cron: str
    timezone: str = "UTC"
    grace: Duration = 300.0
    early: Duration = 60.0
    exclude: Sequence[date | str] = ()
    paused_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class CompleteBy:
    """By when the data of whole days has to be there: a time of the day ("09:00") or a cron line, in an IANA zone.

    With `days` 1 the watermark has to have reached the midnight before, so that all of yesterday is there.
    """

    time: str
    timezone: str = "UTC"
    days: int = 1


@dataclass(frozen=True, slots=True)
class DoneBy:
    """By when a run has to have succeeded since the time before: "07:30" (daily) or a cron line, in an IANA zone."""

    time: str
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How old the last change to the data may be, how far a watermark of kind `timestamp` may be behind, and by when it
    has to have reached a day: `CompleteBy`, or text such as "09:00 Europe/Berlin".

    Beyond `warn_…` it warns, beyond `max_…` it fails.
    """

    max_age: Duration | None = None
    warn_age: Duration | None = None
    max_lag: Duration | None = None
    warn_lag: Duration | None = None
    complete_by: CompleteBy | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeliness:
    """How long a run may take, and by when one has to be done: `DoneBy`, or text such as "07:30 Europe/Berlin"."""

    max_duration: Duration | None = None
    done_by: DoneBy | str | None = None


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a failed run is tried again before its failure counts, and how long the next try may be waited for."""

    limit: int
    wait: Duration = 3600.0
    alert_each: bool = False


@dataclass(frozen=True, slots=True)
class Mute:
    """A check that is recorded but opens no incident; `until` (aware) ends it by itself."""

    check: Literal["freshness", "timeliness", "anomaly", "failure", "lost", "missed_start", "all"]
    until: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AnomalyRule:
    """How one metric (or `*`, all without a rule of their own) is judged."""

    metric: str
    active: bool = True
    sensitivity: Literal["low", "normal", "high"] = "normal"
    z_limit: float | None = None
    direction: Literal["both", "high", "low"] = "both"
    min_runs: int = 10
    min_relative_change: float = 0.2
    min_absolute_change: float | None = None
    scale: Literal["log", "linear"] = "log"
    min_value: float | None = None
    max_value: float | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data location: `type` is what serves it (postgres, s3), `group` its class (database, warehouse)."""

    name: str
    type: str = "table"
    group: str = "database"


@dataclass(frozen=True, slots=True)
class PipelineType:
    """A class of pipelines and the limits that its members share unless they say otherwise."""

    name: str
    freshness: Freshness | Duration | None = None
    timeliness: Timeliness | Duration | None = None
    mutes: Sequence[Mute | str] = ()
    keep_firing: Mapping[str, Duration] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline as code. Durations are seconds, a timedelta, or text such as "30m", "24h" or "1d12h".

    `freshness` is how old the last change to the data may be, `timeliness` how long a run may take (each can say more),
    `retries` how often a failed run is tried again before its failure counts. With `active=False` nothing is run: see
    `Run.skip`. `default_watermark` is what the first run gets. `keep_firing` says by kind (freshness, anomaly, failure)
    how long an incident stays open after its condition has cleared.
    """

    name: str
    type: str | PipelineType | None = None
    owner: str | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    freshness: Freshness | Duration | None = None
    timeliness: Timeliness | Duration | None = None
    retries: Retries | int | None = None
    schedule: Schedule | str | None = None
    mutes: Sequence[Mute | str] = ()
    keep_firing: Mapping[str, Duration] = field(default_factory=dict)
    active: bool = True
    anomaly_rules: Sequence[AnomalyRule] = ()
    sources: Sequence[Dataset | str] = ()
    targets: Sequence[Dataset | str] = ()
    default_watermark: object | None = None
    watermark_kind: WatermarkKind | None = None
