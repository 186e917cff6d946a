"""Losing answers and holding back requests, on frames; a real broker follows in test_lost_answers."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable

import pytest

from network.kafka import METADATA, PRODUCE, KafkaProxy
from network.peers import PATIENCE, Client, Heard, answering

Connect = Callable[[], Client]


@pytest.fixture
async def server() -> AsyncIterator[Heard]:
    async with answering() as heard:
        yield heard


@pytest.fixture
async def proxy(server: Heard) -> AsyncIterator[KafkaProxy]:
    async with KafkaProxy("127.0.0.1", server.port) as started:
        yield started


def request(api_key: int, correlation: int, topic: bytes = b"events") -> bytes:
    body = struct.pack(">hhih", api_key, 7, correlation, -1) + struct.pack(">h", len(topic)) + topic
    return struct.pack(">i", len(body)) + body


async def ask(client: Client, api_key: int, correlation: int, topic: bytes = b"events") -> int:
    """Send a request and read the correlation id of the answer."""
    await client.say(request(api_key, correlation, topic))
    return int(struct.unpack(">i", (await client.hear(8))[4:])[0])


async def test_frames_pass_however_they_are_sliced(server: Heard, connect: Connect) -> None:
    client = connect()
    sent = request(PRODUCE, 1) + request(METADATA, 2)

    for number in range(len(sent)):
        await client.say(sent[number : number + 1])
    await client.hear(16)

    assert server.pieces == [request(PRODUCE, 1), request(METADATA, 2)]


async def test_a_lost_answer_ends_the_connection_after_the_work_was_done(
    proxy: KafkaProxy, server: Heard, connect: Connect
) -> None:
    client = connect()
    proxy.drop_responses(PRODUCE, times=1)

    other = await ask(client, METADATA, 1)
    with pytest.raises(ConnectionResetError):
        await ask(client, PRODUCE, 2)

    assert other == 1
    assert server.pieces == [request(METADATA, 1), request(PRODUCE, 2)]
    assert proxy.dropped == 1
    assert await ask(connect(), PRODUCE, 3) == 3


async def test_answers_are_lost_until_it_heals(proxy: KafkaProxy, connect: Connect) -> None:
    proxy.drop_responses(PRODUCE)
    for number in range(3):
        with pytest.raises(ConnectionResetError):
            await ask(connect(), PRODUCE, number)

    proxy.heal()

    assert await ask(connect(), PRODUCE, 9) == 9
    assert proxy.dropped == 3


async def test_a_blocked_topic_waits_while_other_topics_and_connections_pass(
    proxy: KafkaProxy, server: Heard, connect: Connect
) -> None:
    stuck, free = connect(), connect()
    proxy.block(PRODUCE, b"runs-changelog")

    waiting = asyncio.create_task(ask(stuck, PRODUCE, 1, b"runs-changelog"))
    async with asyncio.timeout(PATIENCE):
        while not proxy.held:
            await asyncio.sleep(0.01)
    passed = [await ask(free, METADATA, 2, b"runs-changelog"), await ask(free, PRODUCE, 3, b"runs")]

    assert passed == [2, 3]
    assert not waiting.done()
    assert request(PRODUCE, 1, b"runs-changelog") not in server.pieces
    proxy.heal()
    assert await waiting == 1
