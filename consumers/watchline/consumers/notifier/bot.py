"""A channel of Slack's in which a bot posts, edits what it has posted, and finds it again.

A message is posted once and edited through the life of its incidents; each change stands in its thread. Every post
and reply carries the id of its delivery as metadata, so that one whose acceptance we did not live to note is
recognised instead of repeated: https://docs.slack.dev/messaging/message-metadata
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog

from watchline.consumers.notifier.alert import Message, Post, Storm
from watchline.consumers.notifier.blocks import fallback, leaves_out, render, render_all
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.http import MESSAGE_ERRORS
from watchline.consumers.notifier.workspace import Refused, Workspace

EVENT = "watchline_alert"
ALERTS_NAMED = 20
CLOCK_MARGIN = timedelta(minutes=5)  # between Postgres' clock and Slack's
PAGE, MAX_PAGES = 100, 20
ID = re.compile(r"[CGD][A-Z0-9]{6,}")
# The post that was to be edited is gone, or can't be edited any more.
GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"})
NOTED = ("recognised", "repeated")  # what alert_deliveries keeps
# The bot may write there, not read.
UNREADABLE = frozenset({"missing_scope", "not_in_channel", "channel_not_found", "no_permission", "access_denied"})

log = structlog.get_logger(__name__)


class BotChannel:
    """Posts to one channel, by its id or its name, with the token of its workspace; waits `pace` s between requests.

    `timeout` is what all requests of a message may take together, in seconds.

    Without the right to read the channel, or while only its name is known, a message in doubt is sent again, marked.
    """

    edits = True

    def __init__(self, workspace: Workspace, name: str, *, pace: float = 1.0, timeout: float = 30.0) -> None:
        self.name = name
        self.channel_id = name if ID.fullmatch(name) else None
        self._workspace = workspace
        self._pace = pace
        self._timeout = timeout

    async def send(self, message: Message) -> Outcome:
        """Bring the post of the message up to date, or make it, and add to its thread what is new."""
        try:
            async with asyncio.timeout(self._timeout):
                post, how = await self._post(message)
                recognised = await self._add_to_thread(post, message, edited=how == "edited")
        except Refused as refused:
            return refused.outcome
        except TimeoutError:
            return Outcome("retry", detail="TimeoutError", unknown=True)
        how = "recognised" if recognised else how
        return Outcome("accepted", 200, how if how in NOTED else None, post=post)

    async def close(self) -> None:
        await self._workspace.close()

    async def _post(self, message: Message) -> tuple[Post, str]:
        """The post that now says what `message` says, and how that came."""
        own = message.post if message.post is not None and message.post.channel == self.name else None
        if own is not None and await self._edit(own, message):
            return own, "edited"
        if message.in_doubt_since is None:
            return await self._create(message, repeated=False), "posted"
        history = {"oldest": oldest(message.in_doubt_since)}
        found, looked = await self._find("conversations.history", message, history)
        if found is None:
            return await self._create(message, repeated=not looked), "posted" if looked else "repeated"
        log.info("message.found", channel=self.name, delivery=str(message.delivery))
        if message.storm is not None:  # it may have grown since
            await self._edit(found, message)
        return found, "recognised"

    async def _edit(self, post: Post, message: Message) -> bool:
        try:
            await self._chat("chat.update", {"channel": post.channel_id, "ts": post.ts}, message)
        except Refused as refused:
            if refused.error not in GONE:
                raise
            log.warning("message.gone", channel=self.name, error=refused.error)
            return False
        await asyncio.sleep(self._pace)
        return True

    async def _create(self, message: Message, *, repeated: bool) -> Post:
        answer = await self._chat("chat.postMessage", {"channel": self._place}, message, repeated=repeated)
        self.channel_id = str(answer.get("channel") or self._place)
        return Post(self.name, self.channel_id, str(answer.get("ts")))

    async def _add_to_thread(self, post: Post, message: Message, *, edited: bool) -> bool:
        """What changed, below a post that was there; the details that a new one has no room for.

        Says whether it stood there already.
        """
        if edited:
            silent = not message.news or (message.storm is not None and not _calls_after(message.storm, message))
            reply = None if silent else render(_only_news(message))
        else:
            reply = render_all(message) if leaves_out(message) else None
        if reply is None:
            return False
        thread = {"ts": post.ts}
        if message.in_doubt_since is not None:
            found, _ = await self._find("conversations.replies", message, thread, below=post.ts)
            if found is not None:
                log.info("message.found", channel=self.name, delivery=str(message.delivery))
                return True
        if not edited:
            await asyncio.sleep(self._pace)
        broadcast = edited and message.calls
        place = {"channel": post.channel_id, "thread_ts": post.ts, "reply_broadcast": broadcast}
        await self._workspace.call("chat.postMessage", {**place, **reply, "metadata": metadata(message)})
        return False

    async def _chat(
        self, method: str, place: Mapping[str, Any], message: Message, *, repeated: bool = False
    ) -> dict[str, Any]:
        """Say it in blocks, and a second time without them when Slack refuses the message for its form."""
        marked = {**place, "metadata": metadata(message)}
        try:
            return await self._workspace.call(method, {**marked, **render(message, repeated=repeated)})
        except Refused as refused:
            if refused.error not in MESSAGE_ERRORS:
                raise
        await asyncio.sleep(self._pace)
        return await self._workspace.call(method, {**marked, **fallback(message, repeated=repeated), "blocks": []})

    async def _find(
        self, method: str, message: Message, place: Mapping[str, str], *, below: str | None = None
    ) -> tuple[Post | None, bool]:
        """The message that carries our delivery, and whether it could be looked for; `below`: in its thread."""
        if self.channel_id is None:
            return None, False
        asked = {**place, "channel": self.channel_id, "include_all_metadata": "true", "limit": str(PAGE)}
        for _ in range(MAX_PAGES):
            try:
                answer = await self._workspace.call(method, asked)
            except Refused as refused:
                if refused.error in UNREADABLE:
                    log.warning("history.unreadable", channel=self.name, error=refused.error)
                    return None, False
                raise
            for each in answer.get("messages", ()):
                ts = each.get("ts")
                is_reply = each.get("thread_ts", ts) != ts
                if is_reply is (below is not None) and carries(each, message):
                    return Post(self.name, self.channel_id, str(each.get("ts"))), True
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
            asked["cursor"] = cursor
        return None, True

    @property
    def _place(self) -> str:
        return self.channel_id or self.name


def metadata(message: Message) -> dict[str, Any]:
    """What a post carries unseen: the delivery, and the transitions that it tells."""
    first = message.alerts[0].incident
    alerts = [f"{each.incident.incident_id}:{each.incident.transition_no}" for each in message.alerts[:ALERTS_NAMED]]
    payload = {
        "delivery": str(message.delivery),
        "incident_id": str(first.incident_id),
        "transition_no": first.transition_no,
        "transition": first.transition,
        "alerts": alerts,
    }
    return {"event_type": EVENT, "event_payload": payload}


def carries(post: Mapping[str, Any], message: Message) -> bool:
    """Whether a message from Slack is this delivery."""
    marked = post.get("metadata") or {}
    payload = marked.get("event_payload") or {}
    return marked.get("event_type") == EVENT and payload.get("delivery") == str(message.delivery)


def oldest(in_doubt_since: datetime) -> str:
    """A time of Slack's, in seconds, before anything of a delivery that began at `in_doubt_since`."""
    return f"{(in_doubt_since - CLOCK_MARGIN).timestamp():.6f}"


def _calls_after(storm: Storm, message: Message) -> bool:
    """While a storm lasts its digest is enough."""
    return storm.ended_at is not None and message.calls


def _only_news(message: Message) -> Message:
    return message if message.storm is not None else Message(message.news)
