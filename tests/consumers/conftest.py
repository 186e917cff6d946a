"""What the tests of the sink, the notifier and the watch share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from slack.fake import FakeSlack
from stack.serving import Serve, serving


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as fake:
        yield fake


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    async with serving() as begin:
        yield begin
