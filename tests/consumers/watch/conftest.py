"""Somebody outside, and notifiers with little patience that run until the test ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from pydantic import SecretStr

from ingesting.pulses import Outside, outside
from slack.fake import FakeSlack
from stack.serving import Serve
from watchline.consumers.notifier import NotifierSettings, run
from watchline.consumers.watch.settings import WatchSettings

Start = Callable[..., Awaitable[asyncio.Event]]


@pytest.fixture
async def away() -> AsyncIterator[Outside]:
    async with outside() as place:
        yield place


@pytest.fixture
def start(database: str, slack: FakeSlack, away: Outside, serve: Serve) -> Start:
    """Run a notifier beside the test, its watch changed as asked; returns its stop event."""
    settings = NotifierSettings(
        postgres_dsn=SecretStr(database), slack_webhook_url=SecretStr(slack.url), slack_allow_insecure=True,
        group_wait_seconds=0, group_interval_seconds=0, poll_seconds=0.02, messages_per_second=1000,
    )  # fmt: skip
    watch: dict[str, Any] = {
        "ingestion_look_seconds": 0.05, "ingestion_ill_seconds": 0, "ingestion_settle_seconds": 0.3,
        "dead_man_url": SecretStr(away.url), "dead_man_allow_insecure": True, "dead_man_seconds": 0.05,
        "dead_man_stuck_seconds": 2,
    }  # fmt: skip

    async def start_one(**changes: Any) -> asyncio.Event:
        return serve(lambda stop: run(settings, stop, WatchSettings(**watch | changes)))

    return start_one
