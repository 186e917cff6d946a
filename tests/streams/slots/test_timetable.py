"""When a slot is: cron lines on the wall clock of a zone, over the days when that clock is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.schedules import timetable, utc
from folds.stories import thoroughly
from watchline.schemas import Schedule
from watchline.streams.instants import to_datetime, to_micros
from watchline.streams.slots.timetable import read_timetable

BERLIN = "Europe/Berlin"


def slots(cron: str, timezone: str, after: str, count: int) -> list[str]:
    """The next slots, each in UTC."""
    found = islice(timetable(cron, timezone).after(to_micros(utc(after))), count)
    return [f"{to_datetime(due):%m-%d %H:%M}" for due in found]


@pytest.mark.parametrize(
    ("what", "cron", "timezone", "after", "expected"),
    [
        ("a skipped time comes once, as soon as there is a time again",
         "30 2 * * *", BERLIN, "2027-03-27 12:00", ["03-28 01:00", "03-29 00:30"]),
        ("two skipped times are one start", "0,30 2 * * *", BERLIN, "2027-03-27 12:00", ["03-28 01:00", "03-29 00:00"]),
        ("a repeated time comes once", "30 2 * * *", BERLIN, "2027-10-30 12:00", ["10-31 00:30", "11-01 01:30"]),
        ("09:00 stays 09:00 when the day has 23 hours",
         "0 9 * * *", BERLIN, "2027-03-27 00:00", ["03-27 08:00", "03-28 07:00", "03-29 07:00"]),
        ("09:00 stays 09:00 when the day has 25 hours",
         "0 9 * * *", BERLIN, "2027-10-30 00:00", ["10-30 07:00", "10-31 08:00", "11-01 08:00"]),
        ("every half hour goes on over the skipped hour",
         "*/30 * * * *", BERLIN, "2027-03-28 00:00", ["03-28 00:30", "03-28 01:00", "03-28 01:30"]),
        ("every half hour goes on through both passes of the repeated hour",
         "*/30 * * * *", BERLIN, "2027-10-30 23:30", ["10-31 00:00", "10-31 00:30", "10-31 01:00", "10-31 01:30"]),
        ("at half past any hour comes in both passes",
         "30 * * * *", BERLIN, "2027-10-31 00:00", ["10-31 00:30", "10-31 01:30"]),
        ("half an hour is skipped on Lord Howe",
         "15 2 * * *", "Australia/Lord_Howe", "2027-10-02 00:00", ["10-02 15:30", "10-03 15:15"]),
        ("a midnight that does not exist",
         "0 0 * * *", "America/Santiago", "2027-09-04 05:00", ["09-05 04:00", "09-06 03:00"]),
        ("a leap day comes every four years", "0 0 29 2 *", "UTC", "2027-01-01 00:00", ["02-29 00:00", "02-29 00:00"]),
        ("a macro", "@daily", BERLIN, "2027-01-01 00:00", ["01-01 23:00", "01-02 23:00"]),
        ("the last working day of the month", "0 6 LW * *", "UTC", "2027-01-30 00:00", ["02-26 06:00", "03-31 06:00"]),
        ("the 13th that is a Friday does not exist: either will do, as in cron",
         "0 0 13 * FRI", "UTC", "2026-11-10 00:00", ["11-13 00:00", "11-20 00:00"]),
    ],
)  # fmt: skip
def test_slots_are_reckoned_on_the_wall_clock(
    what: str, cron: str, timezone: str, after: str, expected: list[str]
) -> None:
    assert slots(cron, timezone, after, len(expected)) == expected, what


def test_from_within_the_second_pass_of_a_repeated_hour_no_slot_lies_in_the_past() -> None:
    assert slots("30 2 * * *", BERLIN, "2027-10-31 01:10", 1) == ["11-01 01:30"]


def test_a_line_that_never_comes_has_no_slots() -> None:
    assert slots("* * */20 * 1L", "UTC", "2020-01-01 00:00", 1) == []


def test_there_are_no_slots_after_the_end_of_time() -> None:
    assert slots("* * * * *", BERLIN, "9999-12-31 23:58", 5) == []


@pytest.mark.parametrize(
    "fields", [{"cron": "0 0 31 2 *"}, {"cron": "x"}, {"timezone": "Mars/X"}, {"exclude": ("2026-02-30",)}]
)
def test_a_schedule_of_an_old_row_that_can_not_be_reckoned_with_expects_nothing(fields: dict[str, object]) -> None:
    assert read_timetable(Schedule.model_validate({"cron": "0 6 * * *"} | fields)) is None


def test_a_date_is_excluded_on_the_calendar_of_the_zone() -> None:
    table = timetable("30 0 * * *", BERLIN, exclude=("2026-12-25", "2026-12-31/2027-01-01"))

    excused = [
        table.excuse(to_micros(utc(f"{day} 23:30"))) for day in ("2026-12-24", "2026-12-25", "2026-12-31", "2027-01-01")
    ]

    assert excused == ["excluded", None, "excluded", None]


minutes = st.sampled_from(("0", "30", "*", "*/20", "5,50", "59"))
hours = st.sampled_from(("*", "2", "*/2", "1-3", "0,23"))
zones = st.sampled_from((BERLIN, "UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"))
begins = st.datetimes(datetime(2010, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds


@thoroughly
@given(minutes, hours, zones, begins, st.integers(0, 12))
def test_wherever_the_reckoning_begins_it_finds_the_same_slots(
    minute: str, hour: str, zone: str, begin: datetime, place: int
) -> None:
    table = timetable(f"{minute} {hour} * * *", zone)
    found = list(islice(table.after(to_micros(begin)), 20))

    again = list(islice(table.after(found[place]), 20 - place - 1))

    assert found == sorted(set(found))
    assert again == found[place + 1 :]
    assert found[0] > to_micros(begin)
    assert found[-1] - found[0] <= 21 * timedelta(days=1) // timedelta(microseconds=1)


@thoroughly
@given(
    st.sampled_from(
        ("* * * * *", "*/20 * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 1 * *", "15 3 29 2 *", "* 1-3 * 10 *")
    ),
    st.sampled_from(("UTC", BERLIN, "Asia/Tokyo")),
    st.integers(0, 4 * 366 * 24 * 60).map(
        lambda minutes: utc("2027-10-31 00:30") - timedelta(minutes=minutes, seconds=7)
    ),
)
def test_the_newest_slot_is_the_last_that_comes_by_then(cron: str, timezone: str, at: datetime) -> None:
    table, until = timetable(cron, timezone), to_micros(at)
    newest = table.before(until)

    assert newest is not None
    assert newest <= until
    assert next(table.after(newest)) > until


def test_the_newest_slot_of_a_line_of_many_slots_long_ago_is_found() -> None:
    table = timetable("* * * 1-10 *", BERLIN)

    newest = table.before(to_micros(utc("2026-12-31 12:00")))

    assert newest == to_micros(utc("2026-10-31 22:59"))
