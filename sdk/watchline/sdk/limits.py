"""The limits of a declaration as they travel: how old, how late, how long, and by what time of the clock.

None when there is none; what is wrong is left out, which is said once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchline.sdk.cleaning import clean_count
from watchline.sdk.definition import CompleteBy, DoneBy, Freshness, Timeliness
from watchline.sdk.duration import Duration, read_duration
from watchline.sdk.harmless import warn_once
from watchline.sdk.parts import fields_of, without_defaults

MOST_DAYS = 366


def read_freshness(value: Freshness | Duration | None) -> dict[str, float] | None:
    """The limits of freshness that can be read; a plain duration is the greatest age."""
    found = value if isinstance(value, Freshness | Mapping) else None
    if found is None:
        return read_limit("freshness", "max_age_seconds", value)
    limits = fields_of(found)
    complete_by = limits.pop("complete_by", None)
    seconds = {f"{name}_seconds": read_duration(f"freshness {name}", limit) for name, limit in limits.items()}
    return without_defaults({**seconds, "complete_by": read_complete_by(complete_by)}, {}) or None


def read_timeliness(value: Timeliness | Duration | None) -> dict[str, Any] | None:
    """The limits of timeliness that can be read; a plain duration is the longest one of a run."""
    found = value if isinstance(value, Timeliness | Mapping) else None
    if found is None:
        return read_limit("timeliness", "max_duration_seconds", value)
    limits = fields_of(found)
    longest = read_duration("timeliness max_duration", limits.get("max_duration"))
    limits = {"max_duration_seconds": longest, "done_by": read_times("done_by", limits.get("done_by"))}
    return without_defaults(limits, {}) or None


def read_complete_by(value: CompleteBy | str | None) -> dict[str, Any] | None:
    """By when how many days ago has to be complete; None for never, and with a warning when it can't be read."""
    times = read_times("complete_by", value)
    if times is None or isinstance(value, str):
        return times
    days = clean_count("complete_by days", fields_of(value).get("days", 1))
    if days is None or not 1 <= days <= MOST_DAYS:
        warn_once("complete_by days", "complete_by=%.200r is left out: it is 1 to %d days", value, MOST_DAYS)
        return None
    return without_defaults({**times, "days": days}, {"days": 1})


def read_times(name: str, value: CompleteBy | DoneBy | str | None) -> dict[str, Any] | None:
    """The cron line and zone of a time such as "07:30 Europe/Berlin"; None, with a warning, when it can't be read."""
    if value is None:
        return None
    from watchline.schemas.cron import read_clock, read_zone  # noqa: PLC0415 - most have none

    try:
        found = {"time": value} if isinstance(value, str) else fields_of(value)
        cron, zone = read_clock(found["time"])
        zone = found.get("timezone", "UTC") if zone is None else zone
        read_zone(zone)
    except Exception as error:  # noqa: BLE001 - any object may stand in its place
        warn_once(name, "%s=%.200r is left out: %s", name, value, error)
        return None
    return without_defaults({"cron": cron, "timezone": zone}, {"timezone": "UTC"})


def read_limit(name: str, key: str, value: object) -> dict[str, float] | None:
    """A limit in seconds under its `key`, None for none."""
    seconds = read_duration(name, value)
    return None if seconds is None else {key: seconds}
