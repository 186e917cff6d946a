"""A local Slack: takes webhook requests, answers what a script says, and remembers what it was sent.

async with FakeSlack() as slack:
    slack.answers.append(Answer(429, "rate_limited", {"Retry-After": "2"}))  # then `ok` for ever
    ...  # post to slack.url
    await slack.wait_for(1)
    slack.requests[0].text
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from slack.listening import Listener

Conduct = Literal["answer", "hang", "reset", "drip"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the script; `hang` reads the request and never answers, `reset` cuts the connection."""

    status: int = 200
    body: str = "ok"
    headers: Mapping[str, str] = field(default_factory=dict)
    conduct: Conduct = "answer"


OK = Answer()
HANG = Answer(conduct="hang")
RESET = Answer(conduct="reset")
DRIP = Answer(conduct="drip")


@dataclass(frozen=True, slots=True)
class Received:
    """One request, when it came by the monotonic clock, and how it was answered."""

    at: float
    path: str
    payload: dict[str, Any]
    answer: Answer

    @property
    def text(self) -> str:
        """The plain-text fallback of the message."""
        return str(self.payload.get("text", ""))


class FakeSlack(Listener):
    """A webhook; scripted `answers` are used up first, then `default` is given."""

    def __init__(self, *, path: str = "/services/T0000/B0000/canary-secret-in-the-path") -> None:
        super().__init__()
        self.path = path
        self.answers: deque[Answer] = deque()
        self.default = OK
        self.requests: list[Received] = []

    @property
    def url(self) -> str:
        """The webhook address; it holds a secret, like a real one."""
        return f"{self._address}{self.path}"

    @property
    def accepted(self) -> list[Received]:
        """The requests that were answered with Slack's `ok`."""
        return [each for each in self.requests if each.answer == OK]

    async def wait_for(self, requests: int, *, seconds: float = 20.0) -> list[Received]:
        """Wait until at least `requests` have come; TimeoutError after `seconds`."""
        await self.until(lambda: len(self.requests) >= requests, seconds=seconds)
        return self.requests

    async def _receive(self, request: web.Request) -> web.StreamResponse:
        payload = await request.json()
        answer = self.answers.popleft() if self.answers else self.default
        async with self._changed:
            self.requests.append(Received(time.monotonic(), request.path, payload, answer))
            self._changed.notify_all()
        if answer.conduct == "hang":
            await self._closing.wait()
        if answer.conduct == "drip":
            return await self._drip(request)
        if answer.conduct != "answer":
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=answer.status, text=answer.body, headers=answer.headers)

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        """A byte at a time, so that no single read ever waits for long."""
        response = web.StreamResponse()
        await response.prepare(request)
        while not self._closing.is_set():
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response
