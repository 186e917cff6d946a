from datetime import UTC, date, datetime, timedelta

import pytest

from watchline.cli.demo.night.clock import Night, clock, last_night, on_the_wall

NIGHT = Night(date(2026, 10, 25))


def test_the_night_is_an_hour_longer_than_its_wall_times_say() -> None:
    assert NIGHT.ends - NIGHT.begins == timedelta(hours=14)


def test_what_comes_twice_is_told_apart_by_its_zone() -> None:
    first, second = NIGHT.at("02:30"), NIGHT.at("02:30", again=True)

    assert second - first == timedelta(hours=1)
    assert (on_the_wall(first), on_the_wall(second)) == ("02:30 CEST", "02:30 CET")
    assert (clock(first), clock(second)) == ("02:30 CEST", "02:30 CET")


def test_a_time_that_comes_once_is_short() -> None:
    assert clock(NIGHT.at("22:15")) == "22:15"
    assert clock(NIGHT.at("22:15:30")) == "22:15:30"


@pytest.mark.parametrize(
    ("now", "sunday"),
    [
        (datetime(2026, 11, 30, tzinfo=UTC), date(2026, 10, 25)),
        (datetime(2026, 10, 25, 7, 59, tzinfo=UTC), date(2025, 10, 26)),
        (datetime(2026, 10, 25, 8, 1, tzinfo=UTC), date(2026, 10, 25)),
        (datetime(2027, 11, 1, tzinfo=UTC), date(2027, 10, 31)),
    ],
)
def test_the_night_that_is_played_is_the_newest_that_is_over(now: datetime, sunday: date) -> None:
    assert last_night(now) == Night(sunday)
