"""Declarations go first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from watchline.sdk import kafka
from watchline.sdk.kafka import KafkaCarrier
from watchline.sdk.message import Message, Rank, Settle
from watchline.sdk.settings import read_settings

TOPICS = ("watchline.runs", "watchline.pipelines", "watchline.watermarks")


class Journal(KafkaCarrier):
    """Writes down when each topic begins and ends; declarations take as long as `slow`."""

    slow = 0.0

    def __init__(self) -> None:
        super().__init__(read_settings({}, {}))
        self.said: list[str] = []

    async def _send_topic(self, messages: Sequence[Message], settle: Settle) -> None:
        topic = messages[0].topic
        self.said.append(f"{topic} begins")
        await asyncio.sleep(self.slow if topic.endswith("pipelines") else 0)
        self.said.append(f"{topic} ends")


def messages() -> list[Message]:
    return [Message(topic, b"orders", b"{}", Rank.START) for topic in TOPICS]


async def test_a_declaration_is_acknowledged_before_the_runs_are_handed_over() -> None:
    journal = Journal()

    await journal.send(messages(), lambda message, outcome: None)

    assert journal.said[:2] == ["watchline.pipelines begins", "watchline.pipelines ends"]
    assert sorted(journal.said[2:]) == [f"{t} {w}" for t in (TOPICS[0], TOPICS[2]) for w in ("begins", "ends")]


async def test_a_missing_topic_for_declarations_does_not_hold_up_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal()
    journal.slow = 3600
    monkeypatch.setattr(kafka, "HEAD_START_SECONDS", 0.01)

    sending = asyncio.create_task(journal.send(messages(), lambda message, outcome: None))
    async with asyncio.timeout(10):
        while "watchline.runs ends" not in journal.said:
            await asyncio.sleep(0.01)

    sending.cancel()
