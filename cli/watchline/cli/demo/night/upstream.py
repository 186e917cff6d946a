"""A late upstream: orders stop coming for hours, and everything that is made of them is late with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from watchline.cli.demo.night.clock import Night, on_the_wall
from watchline.cli.demo.night.telling import Outcome, Run, Sent, Story, declare
from watchline.schemas.declaration import Dataset, Freshness
from watchline.schemas.events import PipelineDeclared

HALF_HOUR = timedelta(minutes=30)
UPSTREAM = "raw_orders"
TAKES = timedelta(minutes=5)
# What each reads, how many minutes after the load of the orders it is done, and how old its data may be.
DEPENDANTS = {
    "orders_clean": (UPSTREAM, 7, 85),
    "stock_levels": ("orders_clean", 9, 85),
    "orders_daily": ("orders_clean", 11, 85),
    "revenue": ("orders_daily", 13, 85),
    "finance_export": ("revenue", 15, 85),
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
    for name, (source, minutes, limit) in DEPENDANTS.items():
        done = timedelta(minutes=minutes)
        declared.append(_declare(night, name, source, limit))
        sent += [each for at in loads for each in _load(name, at + done - timedelta(minutes=2), at + done)]
        stale = last + done + timedelta(minutes=limit)
        why = f"last change {on_the_wall(last + done)}, limit {limit} min; waits for {UPSTREAM}"
        outcomes.append(Outcome(name, "freshness", stale, back + done, "recovered", why, under=UPSTREAM))
    return Story(tuple(declared), tuple(sent), tuple(outcomes))


def _declare(night: Night, name: str, source: str, limit: int) -> PipelineDeclared:
    return declare(
        night, name, owner="analytics", freshness=Freshness(max_age_seconds=limit * 60),
        sources=(Dataset(name=source),), targets=(Dataset(name=name),),
    )  # fmt: skip


def _every_half_hour(first: datetime, last: datetime) -> Iterator[datetime]:
    while first <= last:
        yield first
        first += HALF_HOUR


def _load(name: str, began: datetime, ended: datetime) -> Iterator[Sent]:
    return Run(name, began.isoformat()).whole(began, ended, inserts=1200, total_rows=1200)
