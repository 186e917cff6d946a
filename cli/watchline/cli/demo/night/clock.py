"""The night: from Saturday 20:00 to Sunday 09:00 in Berlin, with the end of summer time in between."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

TIMEZONE = "Europe/Berlin"
ZONE = ZoneInfo(TIMEZONE)
EVENING = 18  # later wall times belong to the first day


@dataclass(frozen=True, slots=True)
class Night:
    """The night before `sunday`, on which the clocks are put back; 02:00 to 03:00 comes twice."""

    sunday: date

    def at(self, clock: str, *, again: bool = False) -> datetime:
        """The instant (UTC) at which the wall shows `clock` ("22:15", "22:15:30"); `again` for the second time."""
        wall = time.fromisoformat(clock)
        day = self.sunday - timedelta(days=1) if wall.hour >= EVENING else self.sunday
        return datetime.combine(day, wall.replace(fold=int(again)), ZONE).astimezone(UTC)

    @property
    def begins(self) -> datetime:
        return self.at("20:00")

    @property
    def ends(self) -> datetime:
        return self.at("09:00")

    @property
    def outage(self) -> tuple[datetime, datetime]:
        """When Kafka is away: nothing is written, no event and no pulse."""
        return self.at("00:30"), self.at("00:50")


def last_night(now: datetime) -> Night:
    """The newest such night that is over at `now`."""
    nights = (Night(_last_sunday_of_october(now.year - ago)) for ago in (0, 1))
    return next(night for night in nights if night.ends < now)


def on_the_wall(at: datetime) -> str:
    """`02:30 CEST`: within the repeated hour only the zone tells which."""
    return f"{at.astimezone(ZONE):%H:%M %Z}"


def clock(at: datetime) -> str:
    """`22:15`, with seconds when there are any and the zone where the hour comes twice."""
    wall = at.astimezone(ZONE)
    text = f"{wall:%H:%M:%S}" if wall.second or wall.microsecond else f"{wall:%H:%M}"
    twice = wall.replace(fold=0).utcoffset() != wall.replace(fold=1).utcoffset()
    return f"{text} {wall:%Z}" if twice else text


def _last_sunday_of_october(year: int) -> date:
    last = date(year, 10, 31)
    return last - timedelta(days=(last.weekday() + 1) % 7)
