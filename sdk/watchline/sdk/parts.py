"""The parts of a declaration as they travel: each is read by itself, None when it is wrong, which is said once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from watchline.schemas.limits import MAX_DATASET, MAX_EXCLUSIONS, MAX_NAME
from watchline.sdk.cleaning import clean_count, clean_name, clean_text, clean_time
from watchline.sdk.definition import AnomalyRule, Dataset, Mute, Retries, Schedule
from watchline.sdk.duration import read_duration
from watchline.sdk.harmless import warn_once

MOST_RETRIES = 100
CHECKS = ("freshness", "timeliness", "anomaly", "failure", "lost", "missed_start", "all")
KEPT = ("freshness", "anomaly", "failure")


def read_retries(value: Retries | int | None) -> dict[str, Any] | None:
    """How often a run is tried again, None for never and for what says neither."""
    if value is None or value == 0:
        return None
    told = fields_of(value) or {"limit": value}
    limit = clean_count("retries", told.get("limit"))
    if limit is None or not 1 <= limit <= MOST_RETRIES:
        warn_once("retries", "retries=%.200r is left out: 1 to %d can be tried again", value, MOST_RETRIES)
        return None
    wait = read_duration("wait", told.get("wait", told.get("wait_seconds")))
    found = {"limit": limit, "wait_seconds": wait, "alert_each": bool(told.get("alert_each"))}
    return without_defaults(found, {"wait_seconds": 3600.0, "alert_each": False})


def read_schedule(value: Schedule | str | None) -> dict[str, Any] | None:
    """A schedule that can be reckoned with, None for none: one that is read in part would be a wrong one."""
    if value is None:
        return None
    try:
        schedule = Schedule(value) if isinstance(value, str) else value
        found = {
            **_calendar(schedule),
            "grace_seconds": read_duration("grace", schedule.grace),
            "early_seconds": 0.0 if schedule.early == 0 else read_duration("early", schedule.early),
        }
    except Exception as error:  # noqa: BLE001 - any object may stand in its place
        warn_once("schedule", "the schedule %.200r is left out: %s", value, error)
        return None
    return without_defaults(found, {"timezone": "UTC", "grace_seconds": 300.0, "early_seconds": 60.0, "exclude": []})


def _calendar(schedule: Schedule) -> dict[str, Any]:
    """The days and hours of a schedule; ValueError says which of them is wrong."""
    from watchline.schemas.cron import read_cron, read_dates, read_zone  # noqa: PLC0415 - most have no schedule

    exclude = [schedule.exclude] if isinstance(schedule.exclude, str) else [str(day) for day in schedule.exclude]
    if len(schedule.cron) > MAX_NAME or len(exclude) > MAX_EXCLUSIONS:
        raise ValueError(f"it has at most {MAX_NAME} characters and {MAX_EXCLUSIONS} dates to exclude")
    read_cron(schedule.cron)
    read_zone(schedule.timezone)
    for dates in exclude:
        read_dates(dates)
    paused = None if schedule.paused_until is None else clean_time("paused_until", schedule.paused_until)
    if paused is None and schedule.paused_until is not None:
        raise ValueError("paused_until is no time with an offset")
    return {"cron": schedule.cron, "timezone": schedule.timezone, "exclude": exclude, "paused_until": paused}


def read_mute(value: Mute | str) -> dict[str, Any] | None:
    """A mute of a check that exists; one whose end can't be read is none, as it would never end."""
    mute = fields_of(Mute(value) if isinstance(value, str) else value)  # type: ignore[arg-type]  # any text is judged below
    if read_choice("mute", mute.get("check"), CHECKS) is None:
        return None
    until = None if mute.get("until") is None else clean_time("mute until", mute["until"])
    if mute.get("until") is not None and until is None:
        return None
    found = {"check": mute["check"], "until": until, "reason": read_text(mute.get("reason"), 8192)}
    return without_defaults(found, {})


def read_keep_firing(pair: tuple[str, object]) -> dict[str, Any] | None:
    """How long incidents of a kind outlive their condition; 0 for not at all."""
    kind, length = pair
    if read_choice("keep_firing", kind, KEPT) is None:
        return None
    seconds = 0.0 if length in (0, "0") else read_duration("keep_firing", length)
    return None if seconds is None else {"check": kind, "seconds": seconds}


RANGES: dict[str, tuple[float, float]] = {
    "z_limit": (2, 10),
    "min_runs": (3, 1000),
    "min_relative_change": (0, 100),
    "min_absolute_change": (0, float("inf")),
}
CHOICES = {"sensitivity": ("low", "normal", "high"), "direction": ("both", "high", "low"), "scale": ("log", "linear")}


def read_rule(rule: AnomalyRule) -> dict[str, Any] | None:
    """An anomaly rule within its ranges."""
    found = asdict(AnomalyRule("")) | fields_of(rule)
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


def read_dataset(place: Dataset | str) -> dict[str, Any] | None:
    """A dataset whose name, type and group can be used."""
    found = asdict(Dataset("")) | fields_of(Dataset(place) if isinstance(place, str) else place)
    names = {
        "name": clean_name("dataset", found["name"], MAX_DATASET),
        "type": clean_name("dataset type", found["type"], 100),
        "group": clean_name("dataset group", found["group"], 100),
    }
    return without_defaults(names, asdict(Dataset(""))) if all(names.values()) else None


def read_text(value: object, limit: int = MAX_NAME) -> str | None:
    """Text that can be stored, None for none."""
    return None if value is None else clean_text(value, limit)


def read_choice(name: str, value: object, options: tuple[str, ...]) -> str | None:
    """One of `options`, else None with a warning."""
    if isinstance(value, str) and value in options:
        return str(value)
    warn_once(f"choice {name}", "%s=%.200r is none of %s and is left out", name, value, ", ".join(options))
    return None


def without_defaults(found: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What is neither null nor said by saying nothing, so that a default added later changes no hash."""
    return {key: value for key, value in found.items() if value is not None and value != defaults.get(key)}


def fields_of(part: object) -> dict[str, Any]:
    """The fields of one of our dataclasses, of a mapping, or of a model of `watchline.schemas`."""
    if is_dataclass(part) and not isinstance(part, type):
        return asdict(part)
    dump = getattr(part, "model_dump", None)
    found = dump() if callable(dump) else part
    return {str(key): value for key, value in found.items()} if isinstance(found, Mapping) else {}
