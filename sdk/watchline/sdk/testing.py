"""For tests of jobs: a Watchline that keeps its events in a list, and a log that can be given watermarks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from watchline.schemas.decoding import decode
from watchline.schemas.events import Event
from watchline.schemas.topics import Topics
from watchline.sdk.client import Watchline
from watchline.sdk.events import make_event, pack
from watchline.sdk.message import Message
from watchline.sdk.outlet import Nowhere


class Recorder(Nowhere):
    """Keeps messages; what was advanced can be read back, as from the log."""

    def __init__(self, prefix: str = "watchline") -> None:
        super().__init__()
        self.messages: list[Message] = []
        self._topics = Topics(prefix)

    def deliver(self, message: Message) -> None:
        """Keep the message."""
        self.messages.append(message)

    @property
    def events(self) -> list[Event]:
        """All events so far, decoded as the streams will; BadEvent if the SDK sent what they would refuse."""
        return [decode(message.value, now=datetime.now(UTC)) for message in self.messages]

    @property
    def raw(self) -> list[dict[str, Any]]:
        """All events so far as they travel."""
        return [json.loads(message.value) for message in self.messages]

    def read_values(self, topic: str, key: bytes, seconds: float) -> list[bytes]:  # noqa: ARG002 - never waits
        """The values of a key, oldest first."""
        return [message.value for message in self.messages if (message.topic, message.key) == (topic, key)]

    def set_watermark(self, pipeline: str, watermark: str, kind: str = "text") -> None:
        """Pretend that an earlier run advanced a watermark."""
        event = make_event("watermark.advanced", pipeline, {"watermark": watermark, "kind": kind}, at=datetime.now(UTC))
        self.deliver(pack(event, self._topics))


def record(**settings: Any) -> tuple[Watchline, Recorder]:
    """A Watchline that sends nothing, and what it would have sent."""
    recorder = Recorder(settings.get("topic_prefix", "watchline"))
    return Watchline(outlet=recorder, **settings), recorder
