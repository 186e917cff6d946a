"""What a pipeline declares about itself: limits, schedule, mutes, rules and lineage."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from watchline.schemas.limits import MAX_DATASET, MAX_EXCLUSIONS, MAX_NAME, MAX_SECONDS, MAX_TEXT

Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS, allow_inf_nan=False)]
WatermarkKind = Literal["timestamp", "integer", "text"]
Check = Literal["freshness", "timeliness", "anomaly", "failure", "lost", "missed_start", "all"]


class Part(BaseModel):
    """A frozen piece of a declaration; unknown fields are ignored so that old readers survive new writers."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class CompleteBy(Part):
    """By when the data of whole days has to be there: at each time of the cron line in an IANA zone.

    At 09:00 with `days` 1 the watermark has to have reached the midnight before it: all of yesterday is there; with 2
    all of the day before yesterday.
    """

    cron: str = Field(min_length=1, max_length=200)
    timezone: str = "UTC"
    days: int = Field(default=1, ge=1, le=366)


class DoneBy(Part):
    """By when a run has to have succeeded since the time before: at each time of the cron line in an IANA zone."""

    cron: str = Field(min_length=1, max_length=200)
    timezone: str = "UTC"


class Freshness(Part):
    """How old the last change to the data may be, how far its watermark may be behind, and by when a day is complete.

    Beyond `max_…` seconds it fails, beyond `warn_…` it warns; watermarks of kind `timestamp` count.
    """

    max_age_seconds: Seconds | None = None
    warn_age_seconds: Seconds | None = None
    max_lag_seconds: Seconds | None = None
    warn_lag_seconds: Seconds | None = None
    complete_by: CompleteBy | None = None


class Timeliness(Part):
    """How long a run may take, in seconds, and by when one has to be done."""

    max_duration_seconds: Seconds | None = None
    done_by: DoneBy | None = None


class Schedule(Part):
    """When runs are expected: a cron line in an IANA zone; how long after (grace) and before (early) a start may come.

    `cron` has five fields or is one of @hourly to @yearly. A start that does not come is excused until `paused_until`
    and on the local dates of `exclude`: "2026-12-24", or "2026-12-24/2027-01-01" with both ends.
    """

    cron: str = Field(min_length=1, max_length=200)
    timezone: str = "UTC"
    grace_seconds: Seconds = 300.0
    early_seconds: Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)] = 60.0
    exclude: tuple[Annotated[str, Field(max_length=21)], ...] = Field(default=(), max_length=MAX_EXCLUSIONS)
    paused_until: AwareDatetime | None = None


class Mute(Part):
    """A check that is recorded but opens no incident; `until` ends it by itself."""

    check: Check
    until: AwareDatetime | None = None
    reason: str | None = Field(default=None, max_length=MAX_TEXT)


class KeepFiring(Part):
    """How long an incident stays open after its condition has cleared, so that one that comes back is the same."""

    check: Literal["freshness", "anomaly", "failure"]
    seconds: float = Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)


class AnomalyRule(Part):
    """How one metric (or `*`, all without a rule of their own) is judged."""

    metric: str = Field(min_length=1, max_length=MAX_NAME)
    active: bool = True
    sensitivity: Literal["low", "normal", "high"] = "normal"
    z_limit: float | None = Field(default=None, ge=2, le=10)
    direction: Literal["both", "high", "low"] = "both"
    min_runs: int = Field(default=10, ge=3, le=1000)
    min_relative_change: float = Field(default=0.2, ge=0, le=100)
    min_absolute_change: float | None = Field(default=None, ge=0)
    scale: Literal["log", "linear"] = "log"
    min_value: float | None = None
    max_value: float | None = None


class Retries(Part):
    """How often a failed run is tried again before its failure counts, and how long the next try may be waited for."""

    limit: int = Field(ge=1, le=100)
    wait_seconds: Seconds = 3600.0
    alert_each: bool = False  # whether every failed attempt counts


class Dataset(Part):
    """A data location: `type` is what serves it (postgres, s3), `group` its class (database, warehouse)."""

    name: str = Field(min_length=1, max_length=MAX_DATASET)
    type: str = Field(default="table", min_length=1, max_length=100)
    group: str = Field(default="database", min_length=1, max_length=100)


class TypeDefaults(Part):
    """What all pipelines of a type share unless they say otherwise."""

    freshness: Freshness | None = None
    timeliness: Timeliness | None = None
    mutes: tuple[Mute, ...] = ()
    keep_firing: tuple[KeepFiring, ...] = ()
