"""The notifier dies at each of its failpoints: everybody hears of every alert, and of few of them twice."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from faults.invariants.alerts import alerts_delivered, delivered_once, no_false_alert
from faults.invariants.violations import assert_none
from faults.lives import die, fail, points
from slack.fake import FakeSlack
from slack.incidents import enqueue, incident
from slack.workspace import FakeWorkspace
from stack.contents import value
from stack.services import Services, services
from watchline.schemas import Topics

PACE_SECONDS = 0.05
NAME = re.compile(r"pipeline-\d+")
QUICK = {
    "WATCHLINE_SLACK_ALLOW_INSECURE": "1",
    "WATCHLINE_GROUP_WAIT_SECONDS": "0",
    "WATCHLINE_GROUP_INTERVAL_SECONDS": "0",
    "WATCHLINE_POLL_SECONDS": "0.02",
    "WATCHLINE_MESSAGES_PER_SECOND": "1000",
    "WATCHLINE_LEASE_SECONDS": "1",
    "WATCHLINE_REQUEST_TIMEOUT_SECONDS": "0.9",
    "WATCHLINE_DIGEST_ABOVE": "100000",  # a digest names only some
}
CHANNEL = "C000DATA"
# Between the acceptance and the mark a crash costs one repetition over a webhook; anywhere else it costs none. A bot
# looks into its channel and repeats nothing.
REPEATED = {"N1": 0, "N2": 1, "N3": 1, "N4": 0}
PASSES = (1, 2, 15)  # and the last one, when one alert is left
UNTOLD = "select count(*) from alert_outbox where state <> 'sent'"


@pytest.mark.parametrize("point", points(REPEATED, always="N3"))
async def test_a_notifier_that_dies_at_its_first_second_a_late_and_its_last_pass_of(
    point: str, tmp_path: Path, database: str
) -> None:
    async def harm(running: Services) -> None:
        for number in PASSES:
            await die(running, "notify", f"{point}:kill:{number}")

    async def die_of_the_last(running: Services) -> None:
        await die(running, "notify", f"{point}:kill:1")

    told, heard = await play(harm, tmp_path, database, last=die_of_the_last)

    deaths = len(PASSES) + 1
    assert_none(alerts_delivered(set(told), heard.elements()), no_false_alert(set(told), heard.elements()))
    assert_none(delivered_once(heard.elements(), crashes=REPEATED[point] * deaths))
    assert heard.total() - len(told) == REPEATED[point] * deaths


@pytest.mark.faults  # the default suite has scenario 17 of the notifier
@pytest.mark.parametrize("point", REPEATED)
async def test_a_notifier_with_a_bot_repeats_nothing_when_it_dies_at_its_first_second_and_a_late_pass_of(
    point: str, tmp_path: Path, database: str
) -> None:
    told: list[str] = []
    async with FakeWorkspace({CHANNEL: "data"}) as workspace:
        environment = {
            **QUICK,
            "WATCHLINE_SLACK_BOT_TOKEN": workspace.token,
            "WATCHLINE_SLACK_API_URL": workspace.url,
            "WATCHLINE_SLACK_CHANNEL": CHANNEL,
        }
        with services(tmp_path, "127.0.0.1:1", database, Topics(), environment) as running:
            async with telling(database, told):
                for number in PASSES:
                    await die(running, "notify", f"{point}:kill:{number}")
            await tell_all(running, database)

    heard = Counter(name for each in workspace.posts(CHANNEL) for name in set(NAME.findall(each.text)))
    assert heard == Counter(told)


@pytest.mark.faults
async def test_a_notifier_stops_at_an_error_that_nobody_foresaw_and_the_next_one_goes_on(
    tmp_path: Path, database: str
) -> None:
    async def harm(running: Services) -> None:
        for number, point in enumerate(REPEATED, start=1):
            await fail(running, "notify", f"{point}:raise:{number}")

    told, heard = await play(harm, tmp_path, database)

    assert set(heard) == set(told)
    assert heard.total() - len(told) == sum(REPEATED.values())


Harm = Callable[[Services], Awaitable[None]]


async def play(harm: Harm, folder: Path, dsn: str, *, last: Harm | None = None) -> tuple[list[str], Counter[str]]:
    """Put alerts into the outbox for as long as harm is done; which there were, and how often each was heard.

    The `last` harm is done when one alert more is left, and no other.
    """
    told: list[str] = []
    async with FakeSlack() as slack:
        environment = {**QUICK, "WATCHLINE_SLACK_WEBHOOK_URL": slack.url}
        with services(folder, "127.0.0.1:1", dsn, Topics(), environment) as running:
            async with telling(dsn, told):
                await harm(running)
            if last is not None:
                await tell_all(running, dsn)
                told += await tell_some(dsn, 1, first=len(told))
                await last(running)
            await tell_all(running, dsn)
        return told, names_of(slack)


async def tell_all(running: Services, dsn: str) -> None:
    """A notifier that nobody kills tells what there is, and stops."""
    notifier = running.launch("notify")
    async with asyncio.timeout(30):
        while await value(dsn, UNTOLD):
            await asyncio.sleep(0.05)
    notifier.stop()


@asynccontextmanager
async def telling(dsn: str, told: list[str]) -> AsyncIterator[None]:
    """Put alerts into the outbox for as long as this lasts."""
    enough = asyncio.Event()
    async with asyncio.TaskGroup() as both:
        both.create_task(tell(dsn, told, enough))
        yield
        enough.set()


def names_of(slack: FakeSlack) -> Counter[str]:
    """How often Slack has taken a message about each pipeline."""
    return Counter(name for each in slack.accepted for name in set(NAME.findall(json.dumps(each.payload))))


async def tell(dsn: str, told: list[str], enough: asyncio.Event) -> None:
    """One alert after the other, each of a pipeline of its own."""
    while not enough.is_set():
        told += await tell_some(dsn, 1, first=len(told))
        await asyncio.sleep(PACE_SECONDS)


async def tell_some(dsn: str, count: int, *, first: int = 0) -> list[str]:
    """Put alerts into the outbox; the pipelines that they are of."""
    names = [f"pipeline-{number}" for number in range(first, first + count)]
    connection = await asyncpg.connect(dsn)
    try:
        for name in names:
            await enqueue(connection, incident(pipeline=name))
    finally:
        await connection.close()
    return names
