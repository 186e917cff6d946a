"""Alerts on the terminal."""

from __future__ import annotations

import io

from folds.log import started
from folds.schedules import MINUTE, pulses, scheduled, utc, watched
from slack.incidents import RUN, after, incident, message, resolved
from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.terminal import AlertConsole, TerminalChannel


async def printed(of: Message, *, colour: bool = False, encoding: str = "utf-8") -> str:
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    console = AlertConsole(file=output, width=80, force_terminal=colour, color_system="standard" if colour else None)
    outcome = await TerminalChannel(console).send(of)
    output.flush()
    assert outcome.result == "accepted"
    return output.buffer.getvalue().decode(encoding)


async def test_an_alert_reads_well_without_colour_in_80_columns() -> None:
    text = await printed(message(incident()))

    assert text.splitlines()[:4] == [
        "FAIL orders_daily: inserts below the expected range",
        "  inserts 12, expected 950 to 1,310 (z -9.1, 212 runs)",
        f"  pipeline orders_daily; run {RUN}; since",
        "  2026-11-30 12:00:00 UTC; owner sales",
    ]
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "\x1b" not in text


async def test_the_end_of_an_incident_says_so_in_words() -> None:
    text = await printed(message(resolved(incident(), after(hours=2))))

    assert text.startswith("RESOLVED orders_daily: inserts below the expected range (resolved after 2 h)")


async def test_a_missed_start_reads_well_from_its_opening_to_its_end() -> None:
    six = utc("2026-12-01 05:00")
    log = watched(scheduled("0 6 * * *", "Europe/Berlin", grace_seconds=900), six - MINUTE)
    pulses(log, six, six + 39 * MINUTE)
    log.append(started("a", six + 40 * MINUTE))
    opened, resolved = log.incidents

    assert (await printed(message(opened))).splitlines()[:3] == [
        "FAIL orders_daily: did not start, due 2026-12-01 06:00 Europe/Berlin",
        "  due 2026-12-01 06:00 Europe/Berlin (2026-12-01 05:00 UTC)",
        "  grace 15 min",
    ]
    end = await printed(message(resolved))
    assert end.startswith("RESOLVED orders_daily: did not start, due 2026-12-01 06:00 Europe/Berlin")
    assert "lasted 25 min, arrived late" in end


async def test_two_messages_have_a_blank_line_between_them_and_none_around_them() -> None:
    output = io.StringIO()
    channel = TerminalChannel(AlertConsole(file=output, width=80))

    await channel.send(message(incident()))
    await channel.send(message(resolved(incident(), after(hours=2))))

    first, second = output.getvalue().split("\n\n")
    assert first.startswith("FAIL orders_daily")
    assert second.startswith("RESOLVED orders_daily")
    assert second.endswith("change 2\n")


async def test_colour_is_ours_and_never_the_name_s() -> None:
    text = await printed(message(incident(pipeline="a\x1b[2J\x9b31m[red]b[/red]")), colour=True)

    assert "\x1b[2J" not in text
    assert "\x9b" not in text
    assert "a\\x1b[2J\\x9b31m[red]b[/red]" in text
    assert "\x1b[1;31mFAIL\x1b[0m" in text


async def test_a_terminal_that_knows_ascii_only_still_gets_the_alert() -> None:
    text = await printed(message(incident(pipeline="заказы")), encoding="ascii")

    assert "FAIL \\u0437" in text


async def test_a_long_list_is_cut_and_says_so() -> None:
    text = await printed(message(*(incident(pipeline=f"p{number}") for number in range(30))))

    assert text.startswith("30 pipelines: 30 failing")
    assert "and 10 more" in text


async def test_a_closed_output_is_an_outcome_and_no_exception() -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    outcome = await TerminalChannel(AlertConsole(file=Closed(), width=80)).send(message(incident()))

    assert (outcome.result, outcome.broken) == ("rejected", True)
