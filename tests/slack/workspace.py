"""A local Slack workspace: a bot posts, edits and reads its channels over the Web API, as far as Watchline uses it.

async with FakeWorkspace(channels={"C0000SALES": "sales"}) as workspace:
    workspace.answers["chat.postMessage"].append(Answer(429, "", {"Retry-After": "2"}))  # then as Slack would
    ...  # call methods at workspace.url with workspace.token
    workspace.posts("C0000SALES")[0].text

The errors are those of https://docs.slack.dev/reference/methods/chat.postMessage. A message may be posted to a
channel by its name, `#name` or id; every other method wants the id.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from slack.fake import Answer
from slack.listening import Listener

TOKEN = "xoxb-canary-secret-token"
PAGE = 100


@dataclass
class Posted:
    """A message in a channel, and the texts that it had before its edits."""

    ts: str
    text: str
    blocks: list[dict[str, Any]]
    metadata: dict[str, Any] | None
    thread_ts: str | None = None
    broadcast: bool = False
    earlier: list[str] = field(default_factory=list)

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None

    def shown(self, *, metadata: bool) -> dict[str, Any]:
        """As conversations.history gives it."""
        body: dict[str, Any] = {"type": "message", "ts": self.ts, "text": self.text, "blocks": self.blocks}
        if self.thread_ts is not None:
            body["thread_ts"] = self.thread_ts
        if metadata and self.metadata is not None:
            body["metadata"] = self.metadata
        return body


@dataclass(frozen=True, slots=True)
class Called:
    """One request: when it came by the monotonic clock, its arguments, and the error that was answered, if any."""

    at: float
    method: str
    arguments: Mapping[str, Any]
    error: str | None


class FakeWorkspace(Listener):
    """Slack's Web API. `answers` of a method are used up first, `errors` of a channel stay.

    `per_second`: more messages than that to one channel are answered with 429, as Slack does above one.
    `unreadable` channels can be written to by this bot and not read.
    """

    route = "/api/{method}"

    def __init__(self, channels: Mapping[str, str], *, per_second: float | None = None, token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.names = dict(channels)
        self.messages: dict[str, list[Posted]] = {channel: [] for channel in channels}
        self.answers: dict[str, deque[Answer]] = defaultdict(deque)
        self.errors: dict[str, str] = {}
        self.token_error: str | None = None
        self.unreadable: set[str] = set()
        self.calls: list[Called] = []
        self._pace = 1.0 / per_second if per_second else 0.0
        self._ready: dict[str, float] = defaultdict(float)
        self._number = 0

    @property
    def url(self) -> str:
        """The base of the methods' addresses."""
        return f"{self._address}/api/"

    def posts(self, channel: str) -> list[Posted]:
        """What stands in a channel, oldest first, without the threads."""
        return [each for each in self.messages[channel] if not each.is_reply]

    def thread(self, channel: str, ts: str) -> list[Posted]:
        """The replies below a post."""
        return [each for each in self.messages[channel] if each.thread_ts == ts]

    def called(self, method: str) -> list[Called]:
        """The requests to one method."""
        return [each for each in self.calls if each.method == method]

    def delete(self, channel: str, ts: str) -> None:
        """Somebody deletes a message."""
        self.messages[channel] = [each for each in self.messages[channel] if each.ts != ts]

    async def _receive(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments = await _arguments(request)
        scripted = self.answers[method].popleft() if self.answers[method] else None
        # A request whose answer gets lost has done its work.
        lost = scripted is not None and scripted.conduct != "answer"
        answer: dict[str, Any] = {"ok": False, "error": scripted.body if scripted else ""}
        if scripted is None or lost:
            answer = self._answer(request, method, arguments)
        async with self._changed:
            error = None if answer["ok"] else str(answer["error"])
            self.calls.append(Called(time.monotonic(), method, arguments, error))
            self._changed.notify_all()
        if lost and scripted is not None:
            return await self._lose(request, scripted)
        if scripted is not None:
            return web.json_response(answer, status=scripted.status, headers=scripted.headers)
        limited = answer.get("error") == "ratelimited"
        headers = {"Retry-After": "1"} if limited else {}
        return web.json_response(answer, status=429 if limited else 200, headers=headers)

    async def _lose(self, request: web.Request, scripted: Answer) -> web.StreamResponse:
        if scripted.conduct == "hang":
            await self._closing.wait()
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    def _answer(self, request: web.Request, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return _no("not_authed" if "Authorization" not in request.headers else "invalid_auth")
        if self.token_error is not None:
            return _no(self.token_error)
        writes = method == "chat.postMessage"
        channel = self._channel(str(arguments.get("channel", "")), by_name=writes)
        if channel is None:
            return _no("channel_not_found")
        if channel in self.errors:
            return _no(self.errors[channel])
        if method == "chat.postMessage":
            return self._post(channel, arguments)
        if method == "chat.update":
            return self._update(channel, arguments)
        if channel in self.unreadable:
            return _no("missing_scope")
        if method in ("conversations.history", "conversations.replies"):
            return self._read(method, channel, arguments)
        return _no("unknown_method")

    def _channel(self, asked: str, *, by_name: bool) -> str | None:
        if asked in self.messages:
            return asked
        known = {name: channel for channel, name in self.names.items()} if by_name else {}
        return known.get(asked.removeprefix("#"))

    def _post(self, channel: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if (refused := _refused(arguments)) is not None:
            return _no(refused)
        thread_ts = arguments.get("thread_ts")
        if thread_ts is not None and not any(each.ts == thread_ts for each in self.messages[channel]):
            return _no("thread_not_found")
        now = time.monotonic()
        if now < self._ready[channel]:
            return _no("ratelimited")
        self._ready[channel] = now + self._pace
        posted = Posted(
            ts=self._ts(),
            text=str(arguments.get("text", "")),
            blocks=list(arguments.get("blocks") or []),
            metadata=arguments.get("metadata"),
            thread_ts=thread_ts,
            broadcast=bool(arguments.get("reply_broadcast")),
        )
        self.messages[channel].append(posted)
        return {"ok": True, "channel": channel, "ts": posted.ts, "message": posted.shown(metadata=False)}

    def _update(self, channel: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if (refused := _refused(arguments)) is not None:
            return _no(refused)
        found = [each for each in self.messages[channel] if each.ts == arguments.get("ts")]
        if not found:
            return _no("message_not_found")
        post = found[0]
        post.earlier.append(post.text)
        post.text = str(arguments.get("text", ""))
        post.blocks = list(arguments.get("blocks") or post.blocks)
        post.metadata = arguments.get("metadata") or post.metadata
        return {"ok": True, "channel": channel, "ts": post.ts, "text": post.text}

    def _read(self, method: str, channel: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """History is newest first and shows broadcast replies; a thread is oldest first, its parent before them."""
        everything = self.messages[channel]
        if method == "conversations.history":
            found = [each for each in reversed(everything) if not each.is_reply or each.broadcast]
            found = [each for each in found if float(each.ts) > float(arguments.get("oldest", 0))]
        else:
            found = [each for each in everything if arguments.get("ts") in (each.ts, each.thread_ts)]
            if not found:
                return _no("thread_not_found")
        begin, size = int(arguments.get("cursor") or 0), min(int(arguments.get("limit", PAGE)), 999)
        metadata = str(arguments.get("include_all_metadata", "")).lower() == "true"
        page = [each.shown(metadata=metadata) for each in found[begin : begin + size]]
        rest = begin + size < len(found)
        cursor = {"next_cursor": str(begin + size) if rest else ""}
        return {"ok": True, "messages": page, "has_more": rest, "response_metadata": cursor}

    def _ts(self) -> str:
        self._number += 1
        return f"{int(time.time())}.{self._number:06d}"


async def _arguments(request: web.Request) -> dict[str, Any]:
    if request.content_type == "application/json":
        body = await request.json()
        return body if isinstance(body, dict) else {}
    return {key: value for key, value in (await request.post()).items() if isinstance(value, str)}


def _no(error: str) -> dict[str, Any]:
    return {"ok": False, "error": error}


def _refused(arguments: Mapping[str, Any]) -> str | None:
    """What Slack finds wrong with the form of a message."""
    blocks = arguments.get("blocks") or []
    if not arguments.get("text") and not blocks:
        return "no_text"
    if len(str(arguments.get("text", ""))) > 40_000:
        return "msg_too_long"
    if len(blocks) > 50 or any(len(json.dumps(block)) > 12_000 for block in blocks):
        return "invalid_blocks"
    payload = (arguments.get("metadata") or {}).get("event_payload") or {}
    return "metadata_too_large" if len(json.dumps(payload)) > 15_000 else None
