"""The fake Slacks, and notifiers that run until the test ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from pydantic import SecretStr

from slack.fake import FakeSlack
from slack.workspace import FakeWorkspace
from stack.serving import Serve
from watchline.consumers.notifier import NotifierSettings, run


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
def start(settings: NotifierSettings, serve: Serve) -> Callable[..., Awaitable[asyncio.Event]]:
    """Run a notifier beside the test, with `settings` changed as asked; returns its stop event."""

    async def start_one(**changes: object) -> asyncio.Event:
        return serve(lambda stop: run(settings.model_copy(update=changes), stop))

    return start_one
