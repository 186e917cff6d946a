"""What a place to send messages to promises, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from watchline.consumers.notifier.grouping import Message

Result = Literal["accepted", "retry", "rejected"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one attempt.

    `retry`: the same message may be accepted later, after `retry_after` seconds when the channel said so.
    `rejected`: never; `broken` says that the channel, not the message, is to blame. `detail` holds no secret.
    """

    result: Result
    http_status: int | None = None
    detail: str | None = None
    retry_after: float | None = None
    broken: bool = False


class Channel(Protocol):
    """A place where people read messages; `send` tries once, answers within its time-out and never raises."""

    @property
    def name(self) -> str: ...

    async def send(self, message: Message) -> Outcome: ...

    async def close(self) -> None: ...
