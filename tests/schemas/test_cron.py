"""Cron lines, zones and dates: what is read, and in which words the rest is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import uuid4

import orjson
import pytest
from cronsim import CronSim, CronSimError
from hypothesis import given
from hypothesis import strategies as st

from watchline.schemas import PipelineDeclared, decode
from watchline.schemas.cron import read_clock, read_cron, read_dates, read_zone

NOW = datetime(2026, 12, 1, tzinfo=UTC)
FIELDS = ("*", "0", "1", "5", "31", "*/2", "1-3", "2-4/2", "1,3", "5/10", "L", "LW", "MON", "FRI#2", "5L", "JAN-MAR",
          "60", "5-1", "*/0", "x", "-1", "1-", "", "٣", "FRI#6", "1/2/3", "L/2", "?", "H", "7", "07")  # fmt: skip
lines = st.lists(st.sampled_from(FIELDS), min_size=4, max_size=6).map(" ".join)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 0 6 * * *", "five fields .minute, hour, day of month, month, day of week., this one has 6; seconds can"),
        ("0 6 * *", "this one has 4$"),
        ("", "this one has 0$"),
        ("@reboot", "@reboot names no time of the clock; there are @hourly, @daily"),
        ("60 6 * * *", "^minute '60' is not 0 to 59"),
        ("0 24 * * *", "^hour '24' is not 0 to 23"),
        ("0 6 0 * *", "^day of month '0' is not 1 to 31"),
        ("0 6 * FEBRUARY *", "^month 'FEBRUARY' is not 1 to 12 or JAN to DEC"),
        ("0 6 * * 8", "^day of week '8' is not 0 to 7 or SUN to SAT"),
        ("0 22-2 * * *", "^hour '22-2' runs backwards; write it as two ranges"),
        ("0 0 31 2,4 *", "^day of month '31' never comes in month '2,4'"),
        ("*/0 * * * *", "^minute '\\*/0' is not"),
    ],
)  # fmt: skip
def test_a_line_that_is_wrong_is_refused_with_the_field_and_what_it_may_be(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_cron(line)


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("  0 6 * * mon-fri ", "0 6 * * MON-FRI"), ("@daily", "0 0 * * *"), ("@Weekly", "0 0 * * 0"),
        ("0 0 29 2 *", "0 0 29 2 *"), ("0 0 31 2 FRI", "0 0 31 2 FRI"), ("0 0 L * *", "0 0 L * *"),
    ],
)  # fmt: skip
def test_a_line_is_read_as_its_five_fields(line: str, fields: str) -> None:
    assert read_cron(line) == fields


@given(lines)
def test_whatever_is_taken_here_is_taken_where_slots_are_reckoned(line: str) -> None:
    try:
        taken = read_cron(line)
    except ValueError:
        return

    CronSim(taken, NOW)


@given(lines.filter(lambda line: len(line.split()) == 5 and "L/2" not in line))
def test_whatever_cron_takes_is_taken_here(line: str) -> None:
    try:
        CronSim(line, NOW)
    except CronSimError:
        with pytest.raises(ValueError, match=" "):
            read_cron(line)
    else:
        read_cron(line)


@pytest.mark.parametrize("name", ["Mars/X", "../x", "", "\0", "x" * 500, "localtime", "/etc/passwd", "Europe", "CET+1"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no IANA zone"):
        read_zone(name)


def test_dates_are_one_day_or_a_first_and_a_last_one() -> None:
    assert read_dates("2026-12-24") == (date(2026, 12, 24), date(2026, 12, 24))
    assert read_dates("2026-12-24/2027-01-01") == (date(2026, 12, 24), date(2027, 1, 1))


@pytest.mark.parametrize("text", ["24.12.2026", "2026-02-30", "2026-12-24/", "2027-01-01/2026-12-24", "20261224", ""])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=" "):
        read_dates(text)


@pytest.mark.parametrize(
    ("text", "line", "zone"),
    [
        ("07:30", "30 7 * * *", None), ("7:05 UTC", "5 7 * * *", "UTC"), ("23:59", "59 23 * * *", None),
        ("07:30 Europe/Berlin", "30 7 * * *", "Europe/Berlin"), ("@daily Asia/Tokyo", "@daily", "Asia/Tokyo"),
        ("30 7 * * 1-5", "30 7 * * 1-5", None),
        ("30 7 * * MON-FRI  Europe/Berlin", "30 7 * * MON-FRI", "Europe/Berlin"),
    ],
)  # fmt: skip
def test_a_time_of_the_day_is_read_as_people_write_it(text: str, line: str, zone: str | None) -> None:
    assert read_clock(text) == (line, zone)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("24:00", "'24:00' is no time of the day such as 07:30"), ("7:5", "is no time of the day"),
        ("07:30:00", "is no time of the day"), ("07:30 Berlin", "'Berlin' is no IANA zone"),
        ("0 0 7 * * *", "'\\*' is no IANA zone"), ("soon", "this one has 1$"), ("", "this one has 0$"),
        ("07:30 Europe/Berlin sharp", "is no IANA zone"),
    ],
)  # fmt: skip
def test_what_is_no_time_of_the_day_is_refused_with_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_clock(text)


BAD_PARTS: list[tuple[str, dict[str, object]]] = [
    ("freshness", {"complete_by": {"cron": "0 0 9 * * *"}}), ("freshness", {"complete_by": {"cron": "07:30"}}),
    ("freshness", {"complete_by": {"cron": "0 9 * * *", "days": 0}}), ("freshness", {"complete_by": "09:00"}),
    ("timeliness", {"done_by": {"cron": "0 9 * * *", "timezone": "Mars/X"}}), ("timeliness", {}),
    ("type_defaults", {"timeliness": {"done_by": {"cron": "x"}}}), ("type_defaults", {"timeliness": {}}),
    ("type_defaults", {"freshness": {"complete_by": {"cron": "@reboot"}}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "part"), BAD_PARTS)
def test_a_declaration_outlives_a_time_that_can_not_be_reckoned_with(name: str, part: dict[str, object]) -> None:
    document = {
        "event_type": "pipeline.declared", "event_id": str(uuid4()), "occurred_at": NOW.isoformat(),
        "pipeline": "p", "owner": "sales", name: part,
    }  # fmt: skip

    event = decode(orjson.dumps(document), now=NOW)

    assert isinstance(event, PipelineDeclared)
    assert (event.owner, getattr(event, name), event.flags) == ("sales", None, ("part_dropped",))


@pytest.mark.parametrize(
    "schedule",
    [
        {"cron": "0 0 6 * * *"}, {"cron": "@reboot"}, {"cron": "0 6 * * *", "timezone": "Mars/X"}, {"cron": 5},
        {"cron": "0 6 * * *", "exclude": ["Christmas"]}, {"cron": "0 6 * * *", "early_seconds": -1},
        {"cron": "0 6 * * *", "paused_until": "2026-12-24T00:00:00"},
    ],
)  # fmt: skip
def test_a_declaration_outlives_its_bad_schedule(schedule: dict[str, object]) -> None:
    document = {
        "event_type": "pipeline.declared", "event_id": str(uuid4()), "occurred_at": NOW.isoformat(),
        "pipeline": "p", "owner": "sales", "schedule": schedule,
    }  # fmt: skip

    event = decode(orjson.dumps(document), now=NOW)

    assert isinstance(event, PipelineDeclared)
    assert (event.owner, event.schedule, event.flags) == ("sales", None, ("part_dropped",))
