"""A post whose acceptance nobody has seen is looked for by its delivery before it is sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import asyncpg
import pytest

from slack.fake import HANG, RESET, Answer
from slack.incidents import after, enqueue, incident, reach, resolved
from slack.workspace import FakeWorkspace, Posted

Start = Callable[..., Awaitable[asyncio.Event]]
Bot = Mapping[str, Any]
DATA = "C000DATA"


@pytest.mark.parametrize("lost", [HANG, RESET])
async def test_a_post_whose_answer_got_lost_is_recognised_and_not_repeated(
    lost: Answer, connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.answers["chat.postMessage"].append(lost)
    await start(**bot, request_timeout_seconds=1)

    row = await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    assert len(workspace.posts(DATA)) == 1
    assert (row["in_doubt_since"], row["unanswered"]) == (None, 0)
    assert len(workspace.called("conversations.history")) == 1


async def test_a_reply_whose_answer_got_lost_is_recognised_and_not_repeated(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    opened = incident()
    await start(**bot)
    await reach(connection, await enqueue(connection, opened), "state = 'sent'")

    workspace.answers["chat.postMessage"].append(RESET)
    await reach(connection, await enqueue(connection, resolved(opened, after(hours=1))), "state = 'sent'")

    assert [each.is_reply for each in workspace.messages[DATA]] == [False, True]


async def test_a_post_in_doubt_is_looked_for_behind_many_others(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.answers["chat.postMessage"].append(RESET)
    workspace.answers["conversations.history"].append(Answer(429, "ratelimited", {"Retry-After": "1"}))
    opened = await enqueue(connection, incident())
    await start(**bot)
    await workspace.until(lambda: len(workspace.called("conversations.history")) == 1)
    for number in range(250):  # others talk in the channel meanwhile
        await _say(workspace, f"chatter {number}")

    await reach(connection, opened, "state = 'sent'")

    assert sum("orders_daily" in each.text for each in workspace.posts(DATA)) == 1
    assert len(workspace.called("conversations.history")) == 4


async def test_without_the_right_to_read_a_post_in_doubt_is_repeated_once_and_says_so(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.unreadable.add(DATA)
    workspace.answers["chat.postMessage"].append(RESET)
    await start(**bot)

    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    first, second = workspace.posts(DATA)
    assert ["perhaps a repetition" in each.text for each in (first, second)] == [False, True]


async def _say(workspace: FakeWorkspace, text: str) -> None:
    last = workspace.messages[DATA][-1].ts
    workspace.messages[DATA].append(Posted(ts=f"{float(last) + 0.000001:.6f}", text=text, blocks=[], metadata=None))
