"""A fake Slack, an outbox, and notifiers that run until the test ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import asyncpg
import pytest
from pydantic import SecretStr

from slack.fake import FakeSlack
from slack.workspace import FakeWorkspace
from watchline.consumers.notifier import NotifierSettings, run


@pytest.fixture
async def connection(database: str) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(database)
    yield opened
    await opened.close()


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
async def second_slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack(path="/services/T0000/B1111/second-canary-secret") as fake:
        yield fake


@pytest.fixture
def settings(database: str, slack: FakeSlack) -> NotifierSettings:
    """No waiting for company, a quick poll, and the fake Slack, which is neither https nor public."""
    return NotifierSettings(
        postgres_dsn=SecretStr(database),
        slack_webhook_url=SecretStr(slack.url),
        slack_allow_insecure=True,
        group_wait_seconds=0,
        group_interval_seconds=0,
        poll_seconds=0.02,
        request_timeout_seconds=5,
        messages_per_second=1000,
    )


@pytest.fixture
async def workspace() -> AsyncIterator[FakeWorkspace]:
    """A workspace whose bot may write to #data and #sales."""
    async with FakeWorkspace({"C000DATA": "data", "C00SALES": "sales"}) as fake:
        yield fake


@pytest.fixture
def bot(workspace: FakeWorkspace) -> dict[str, object]:
    """The settings of a notifier with a bot that posts to #data."""
    return {
        "slack_webhook_url": None,
        "slack_bot_token": SecretStr(workspace.token),
        "slack_api_url": workspace.url,
        "slack_channel": "C000DATA",
    }


@pytest.fixture
async def start(settings: NotifierSettings) -> AsyncIterator[Callable[..., Awaitable[asyncio.Event]]]:
    """Run a notifier beside the test, with `settings` changed as asked; returns its stop event."""
    async with AsyncExitStack() as stack:

        async def end(stop: asyncio.Event, task: asyncio.Task[None]) -> None:
            stop.set()
            async with asyncio.timeout(20):
                await task

        async def start_one(**changes: object) -> asyncio.Event:
            stop = asyncio.Event()
            task = asyncio.create_task(run(settings.model_copy(update=changes), stop))
            stack.push_async_callback(end, stop, task)
            return stop

        yield start_one
