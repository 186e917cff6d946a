"""A late upstream: orders stop coming for hours, and everything that is made of them is late with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from watchline.cli.demo.night.clock import Night, clock
from watchline.cli.demo.night.telling import Outcome, Run, Sent, Story, declare
from watchline.schemas.declaration import Dataset, Freshness
from watchline.schemas.events import PipelineDeclared

HALF_HOUR = timedelta(minutes=30)
UPSTREAM = "raw_orders"
TAKES = timedelta(minutes=5)
MINUTE, LIMIT = timedelta(minutes=1), timedelta(minutes=80)
# What each reads, and how many minutes after the load of the orders has begun it is done.
DEPENDANTS = {
    "orders_clean": (UPSTREAM, 6),
    "stock_levels": ("orders_clean", 8),
    "orders_daily": ("orders_clean", 10),
    "revenue": ("orders_daily", 12),
    "finance_export": ("revenue", 14),
}


def late_upstream(night: Night) -> Story:
    """The last load ends at 03:05, the next one at 05:50; it warns after an hour and fails after one and a half."""
    last, back = night.at("03:00"), night.at("05:45")
    loads = [*_every_half_hour(night.begins, last), *_every_half_hour(back, night.ends - HALF_HOUR)]
    freshness = Freshness(warn_age_seconds=3600, max_age_seconds=5400)
    declared = [declare(night, UPSTREAM, owner="orders", freshness=freshness, targets=(Dataset(name=UPSTREAM),))]
    sent = [each for at in loads for each in _load(UPSTREAM, at, at + TAKES)]
    outcomes = [
        Outcome(
            UPSTREAM, "freshness", last + TAKES + timedelta(hours=1), back + TAKES, "recovered",
            "last load 03:05; warns after 60 min, fails after 90 min",
        )
    ]  # fmt: skip
    for name, (source, minutes) in DEPENDANTS.items():
        done = minutes * MINUTE
        declared.append(_declare(night, name, source))
        sent += [each for at in loads for each in _load(name, at + done - MINUTE, at + done)]
        why = f"last change {clock(last + done)}, limit {LIMIT // MINUTE} min; waits for {UPSTREAM}"
        outcomes.append(Outcome(name, "freshness", last + done + LIMIT, back + done, "recovered", why, under=UPSTREAM))
    return Story(tuple(declared), tuple(sent), tuple(outcomes))


def _declare(night: Night, name: str, source: str) -> PipelineDeclared:
    return declare(
        night, name, owner="analytics", freshness=Freshness(max_age_seconds=LIMIT.total_seconds()),
        sources=(Dataset(name=source),), targets=(Dataset(name=name),),
    )  # fmt: skip


def _every_half_hour(first: datetime, last: datetime) -> Iterator[datetime]:
    while first <= last:
        yield first
        first += HALF_HOUR


def _load(name: str, began: datetime, ended: datetime) -> Iterator[Sent]:
    return Run(name, began.isoformat()).whole(began, ended, inserts=1200, total_rows=1200)
