"""What a place to send messages to promises, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from watchline.consumers.notifier.alert import Message, Post

Result = Literal["accepted", "retry", "rejected"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one attempt.

    `retry`: the same message may be accepted later, after `retry_after` seconds when the channel said so.
    `rejected`: never. `broken` says that the channel, not the message, is to blame; `unknown` that the message may
    have been accepted although we don't know it. `post` is what it has become, where the channel says so. `detail`
    holds no secret.
    """

    result: Result
    http_status: int | None = None
    detail: str | None = None
    retry_after: float | None = None
    broken: bool = False
    unknown: bool = False
    post: Post | None = None


class Channel(Protocol):
    """A place where people read messages; `send` tries once, answers within its time-out and never raises.

    `edits`: it can change what it has posted, and find out whether it has posted something.
    """

    @property
    def name(self) -> str: ...

    @property
    def edits(self) -> bool: ...

    async def send(self, message: Message) -> Outcome: ...

    async def close(self) -> None: ...
