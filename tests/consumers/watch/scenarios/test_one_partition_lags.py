"""Scenario 15: one of 12 partitions lags by 40 min, and another has no traffic."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from ingesting.pulses import Outside, absent, arrive, reach_row, sink, states
from slack.fake import FakeSlack
from watchline.consumers.watch.holding import those_in

Start = Callable[..., Awaitable[asyncio.Event]]
TWELVE = range(12)
HOT = 7
JOBS = [f"job-{number}" for number in range(60)]


@pytest.mark.faults
async def test_it_is_a_warning_and_only_verdicts_of_that_partition_are_withheld(
    connection: asyncpg.Connection, slack: FakeSlack, away: Outside, start: Start
) -> None:
    late = set(those_in(frozenset({HOT}), JOBS, len(TWELVE)))
    await arrive(connection, TWELVE)  # pulses come through the idle one like through any other
    await arrive(connection, [HOT], delay=2400)
    await start()
    await slack.wait_for(1)

    await sink(connection, *map(absent, JOBS))
    await reach_row(connection, "(select count(*) = 0 from alert_outbox where state = 'pending')")

    found = await states(connection)
    assert slack.requests[0].text.startswith("🟠 watchline: partition 7 is 40 min behind")
    assert {name for name in JOBS if found[name, "opened"][0] == "held"} == late
    assert {name for name in JOBS if found[name, "opened"][0] == "sent"} == set(JOBS) - late
    assert 0 < len(late) < 20
    assert away.pings == 0
