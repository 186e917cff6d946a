"""From when on rows are kept, and when the next pass is due. Pure functions; all times in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from math import ceil

DAY = timedelta(days=1)
GRACE = DAY  # between the first start with retention and the first pass: somebody may want other settings


def cutoff(now: datetime, days: int) -> datetime:
    """What is older goes: midnight UTC, `days` whole days before the day of `now`.

    Whole days, so that a day's totals are made of all of its runs or are not made at all.
    """
    return datetime.combine(now.astimezone(UTC).date() - days * DAY, time(), UTC)


def reconcile(days: Mapping[str, int], alert_max_age: timedelta) -> dict[str, int]:
    """The days by table, raised where one needs another.

    Changes and alerts stay while reading the log again could tell them anew; an incident stays as long as those.
    """
    kept = dict(days)
    least = ceil(alert_max_age / DAY)
    for table in ("incident_events", "alert_outbox"):
        kept[table] = max(kept[table], least)
    kept["incidents"] = max(kept["incidents"], kept["incident_events"], kept["alert_outbox"])
    return kept


def next_pass(pruned_at: datetime | None, noted_at: datetime, hour: int) -> datetime:
    """When the pass after that of `pruned_at` is due: at the next `hour`, the first a day after `noted_at` or later."""
    after = (noted_at + GRACE if pruned_at is None else pruned_at).astimezone(UTC)
    due = datetime.combine(after.date(), time(hour), UTC)
    return due if due > after else due + DAY
