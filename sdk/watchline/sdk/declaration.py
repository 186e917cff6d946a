"""What a pipeline says about itself, as code: written by hand in jobs, turned into `pipeline.declared` here.

The parts mirror `watchline.schemas.declaration`, as plain dataclasses: a short job can't afford to load pydantic.
Nothing is refused with an exception; what is wrong is left out and logged once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from watchline.schemas.limits import MAX_DATASET, MAX_NAME, MAX_SECONDS
from watchline.sdk.cleaning import clean_json, clean_metadata, clean_name, clean_text, clean_time, clean_watermark
from watchline.sdk.harmless import usable, warn_once

WatermarkKind = Literal["timestamp", "integer", "text"]
KINDS = ("timestamp", "integer", "text")
CHECKS = ("freshness", "timeliness", "anomaly", "failure", "all")
Duration = float | int | str | timedelta
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
ONE_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


@dataclass(frozen=True, slots=True)
class Schedule:
    """When runs are expected: a five-field cron line in an IANA zone, and how late a start may be."""

    cron: str
    timezone: str = "UTC"
    grace: Duration = 300.0


@dataclass(frozen=True, slots=True)
class Mute:
    """A check that is recorded but opens no incident; `until` (aware) ends it by itself."""

    check: Literal["freshness", "timeliness", "anomaly", "failure", "all"]
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
    freshness: Duration | None = None
    timeliness: Duration | None = None
    mutes: Sequence[Mute | str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline as code. Durations are seconds, a timedelta, or text such as "30m", "24h" or "1d12h".

    `freshness` is how old the last change to the data may be, `timeliness` how long a run may take. With
    `active=False` nothing is run: see `Run.skip`. `default_watermark` is what the first run gets.
    """

    name: str
    type: str | PipelineType | None = None
    owner: str | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    freshness: Duration | None = None
    timeliness: Duration | None = None
    schedule: Schedule | str | None = None
    mutes: Sequence[Mute | str] = ()
    active: bool = True
    anomaly_rules: Sequence[AnomalyRule] = ()
    sources: Sequence[Dataset | str] = ()
    targets: Sequence[Dataset | str] = ()
    default_watermark: object | None = None
    watermark_kind: WatermarkKind | None = None


DEFAULTS: dict[str, Any] = {
    "active": True,
    "tags": [],
    "metadata": {},
    "mutes": [],
    "anomaly_rules": [],
    "sources": [],
    "targets": [],
    "watermark_kind": "text",
}


def describe(pipeline: Pipeline) -> dict[str, Any]:
    """The fields of `pipeline.declared`, `config_hash` included, without nulls and defaults."""
    content = without_defaults(_content(pipeline), DEFAULTS)
    return content | {"active": content.get("active", True), "config_hash": hash_content(content)}


def hash_content(content: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON: the same figure as `watchline.schemas.config_hash` of the decoded event."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def without_defaults(found: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What is neither null nor said by saying nothing, so that a default added later changes no hash."""
    return {key: value for key, value in found.items() if value is not None and value != defaults.get(key)}


def read_duration(name: str, value: object) -> float | None:
    """Seconds of a duration, more than 0 and at most ten years; else None with a warning."""
    seconds = _seconds(value)
    if seconds is not None and 0 < seconds <= MAX_SECONDS:
        return seconds
    if value is not None:
        warn_once(
            f"{name} duration", "%s=%.200r is no duration such as 3600, '30m' or '24h' and is left out", name, value
        )
    return None


def _seconds(value: object) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = value.strip().lower() if isinstance(value, str) else ""
    parts = ONE_DURATION.findall(text)
    if parts and not ONE_DURATION.sub("", text).strip():
        return float(sum(float(number) * UNITS[unit] for number, unit in parts))
    try:
        return float(text)
    except ValueError:
        return None


def _content(pipeline: Pipeline) -> dict[str, Any]:
    kind = pipeline.type
    default = pipeline.default_watermark
    return {
        "pipeline": clean_name("pipeline", pipeline.name),
        "type": _optional_text(kind.name if isinstance(kind, PipelineType) else kind),
        "type_defaults": _type_defaults(kind) if isinstance(kind, PipelineType) else None,
        "active": usable("active", bool, pipeline.active) is not False,
        "owner": _optional_text(pipeline.owner),
        "tags": [clean_text(tag, MAX_NAME) for tag in _listed("tags", pipeline.tags)],
        "metadata": clean_metadata(pipeline.metadata),
        "freshness": _limit("freshness", "max_age_seconds", pipeline.freshness),
        "timeliness": _limit("timeliness", "max_duration_seconds", pipeline.timeliness),
        "schedule": _schedule(pipeline.schedule),
        "mutes": _parts("mutes", pipeline.mutes, _mute),
        "anomaly_rules": _parts("anomaly_rules", pipeline.anomaly_rules, _rule),
        "sources": _parts("sources", pipeline.sources, _dataset),
        "targets": _parts("targets", pipeline.targets, _dataset),
        "default_watermark": None if default is None else clean_watermark(default),
        "watermark_kind": "text" if pipeline.watermark_kind is None else _kind(pipeline.watermark_kind),
    }


def _kind(value: object) -> str:
    return _choice("watermark_kind", value, KINDS) or "text"


def _type_defaults(kind: PipelineType) -> dict[str, Any]:
    found = {
        "freshness": _limit("freshness", "max_age_seconds", kind.freshness),
        "timeliness": _limit("timeliness", "max_duration_seconds", kind.timeliness),
        "mutes": _parts("mutes", kind.mutes, _mute),
    }
    return without_defaults(found, {"mutes": []})


def _limit(name: str, key: str, value: object) -> dict[str, float] | None:
    seconds = read_duration(name, value)
    return None if seconds is None else {key: seconds}


def _schedule(value: Schedule | str | None) -> dict[str, Any] | None:
    if value is None:
        return None
    schedule = Schedule(value) if isinstance(value, str) else value
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - most pipelines have no schedule

    try:
        ZoneInfo(schedule.timezone)
        if len(schedule.cron.split()) != 5 or len(schedule.cron) > MAX_NAME:
            raise ValueError("a cron line has five fields")
    except Exception as error:  # noqa: BLE001 - zoneinfo raises by the kind of mistake; all mean no schedule
        warn_once("schedule", "the schedule %.200r is left out: %s: %s", value, type(error).__name__, error)
        return None
    grace = read_duration("grace", schedule.grace)
    found = {"cron": schedule.cron, "timezone": schedule.timezone, "grace_seconds": grace}
    return without_defaults(found, {"timezone": "UTC", "grace_seconds": 300.0})


def _mute(value: Mute | str) -> dict[str, Any] | None:
    mute = _fields(Mute(value) if isinstance(value, str) else value)  # type: ignore[arg-type]  # any text is judged below
    if _choice("mute", mute.get("check"), CHECKS) is None:
        return None
    until = None if mute.get("until") is None else clean_time("mute until", mute["until"])
    if mute.get("until") is not None and until is None:
        return None  # a mute without its end would never end
    found = {"check": mute["check"], "until": until, "reason": _optional_text(mute.get("reason"), 8192)}
    return without_defaults(found, {})


RANGES: dict[str, tuple[float, float]] = {
    "z_limit": (2, 10),
    "min_runs": (3, 1000),
    "min_relative_change": (0, 100),
    "min_absolute_change": (0, float("inf")),
}
CHOICES = {"sensitivity": ("low", "normal", "high"), "direction": ("both", "high", "low"), "scale": ("log", "linear")}


def _rule(rule: AnomalyRule) -> dict[str, Any] | None:
    found = asdict(AnomalyRule("")) | _fields(rule)
    metric = clean_name("metric", found["metric"])
    outside = [name for name, (low, high) in RANGES.items() if not _within(found[name], low, high)]
    strange = [name for name, options in CHOICES.items() if found[name] not in options]
    if metric is None or outside or strange:
        warn_once(f"rule {metric}", "the anomaly rule %.200r is left out: see %s", rule, ", ".join(outside + strange))
        return None
    numbers = ("z_limit", "min_relative_change", "min_absolute_change", "min_value", "max_value")
    floats = {name: float(found[name]) for name in numbers if found[name] is not None}
    return without_defaults({**found, **floats, "metric": metric}, asdict(AnomalyRule("")))


def _within(value: Any, low: float, high: float) -> bool:
    return value is None or (isinstance(value, int | float) and low <= value <= high)


def _dataset(place: Dataset | str) -> dict[str, Any] | None:
    found = asdict(Dataset("")) | _fields(Dataset(place) if isinstance(place, str) else place)
    names = {
        "name": clean_name("dataset", found["name"], MAX_DATASET),
        "type": clean_name("dataset type", found["type"], 100),
        "group": clean_name("dataset group", found["group"], 100),
    }
    return without_defaults(names, asdict(Dataset(""))) if all(names.values()) else None


def _fields(part: object) -> dict[str, Any]:
    """The fields of one of our dataclasses, of a mapping, or of a model of `watchline.schemas`."""
    if is_dataclass(part) and not isinstance(part, type):
        return asdict(part)
    dump = getattr(part, "model_dump", None)
    found = dump() if callable(dump) else part
    return {str(key): value for key, value in found.items()} if isinstance(found, Mapping) else {}


def _listed(name: str, values: object) -> list[Any]:
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return usable(name, list, values) or []
    if values is not None:
        warn_once(f"{name} list", "%s must be a list and is left out: %.200r", name, values)
    return []


def _parts(name: str, values: object, read: Callable[[Any], dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Each part that can be read; one that can't costs neither the others nor the declaration."""
    found = (usable(f"one of {name}", read, value) for value in _listed(name, values))
    return [clean_json(part) for part in found if part is not None]


def _optional_text(value: object, limit: int = MAX_NAME) -> str | None:
    return None if value is None else clean_text(value, limit)


def _choice(name: str, value: object, options: tuple[str, ...]) -> str | None:
    if isinstance(value, str) and value in options:
        return str(value)
    warn_once(f"choice {name}", "%s=%.200r is none of %s and is left out", name, value, ", ".join(options))
    return None
