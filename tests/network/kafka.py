"""A proxy that understands Kafka's frames: it loses answers to chosen requests, or holds the requests back.

Clients stay on it when the broker advertises the address of the proxy, as `behind` has it.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

from brokers.apache import ApacheBroker
from network.link import Link, Streams
from network.proxy import Proxy
from network.weather import Weather

PRODUCE = 0
METADATA = 3


class KafkaProxy(Proxy):
    """`dropped` and `held` count the answers lost and the requests that had to wait."""

    def __init__(self, host: str, upstream_port: int, *, listen_port: int = 0) -> None:
        super().__init__(host, upstream_port, listen_port=listen_port)
        self.counts = Counts()

    @property
    def dropped(self) -> int:
        return self.counts.dropped

    @property
    def held(self) -> int:
        return self.counts.held

    def drop_responses(self, api_key: int, *, times: int | None = None) -> None:
        """Let requests of `api_key` through and, when the answer comes, RST the connection instead.

        The broker has done the work and the client can't know. `times` None: until `heal`.
        """
        self._apply(lambda: self.weather.change(dropping={**self.weather.dropping, api_key: times}))

    def block(self, api_key: int, topic: bytes | None = None) -> None:
        """Hold back requests of `api_key`, with a topic only those that name it.

        What follows one on its connection waits too, as the broker answers in order; other connections go on. `heal`
        lets them through even when the client has gone since; `cut` before it loses them.
        """
        self._apply(lambda: self.weather.change(blocked=self.weather.blocked | {(api_key, topic)}))

    def _make_link(self, client: Streams, server: Streams) -> Link:
        return KafkaLink(client, server, self.weather, self.counts)


def behind(broker: ApacheBroker) -> KafkaProxy:
    """A proxy that clients of `broker` stay on when they bootstrap at its address; start it."""
    return KafkaProxy("127.0.0.1", broker.proxied_port, listen_port=broker.advertised_port)


class Counts:
    """What was done to the traffic of all links of a proxy."""

    dropped = 0
    held = 0


class KafkaLink(Link):
    """One client's connection, read frame by frame."""

    def __init__(self, client: Streams, server: Streams, weather: Weather, counts: Counts) -> None:
        super().__init__(client, server, weather)
        self._counts = counts
        self._doomed: set[int] = set()

    async def requests(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        async for frame in frames(reader):
            api_key, _, correlation = struct.unpack(">hhi", frame[4:12])
            await self._wait_for_passage(api_key, frame)
            if self._dooms(api_key):
                self._doomed.add(correlation)
            yield frame

    async def responses(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        async for frame in frames(reader):
            (correlation,) = struct.unpack(">i", frame[4:8])
            if correlation in self._doomed:
                self._counts.dropped += 1
                self.reset()
                return
            yield frame

    async def _wait_for_passage(self, api_key: int, frame: bytes) -> None:
        if self._is_blocked(api_key, frame):
            self._counts.held += 1
            await self._weather.until(lambda: not self._is_blocked(api_key, frame))

    def _is_blocked(self, api_key: int, frame: bytes) -> bool:
        blocked = self._weather.blocked
        return any(key == api_key and (topic is None or names(frame, topic)) for key, topic in blocked)

    def _dooms(self, api_key: int) -> bool:
        """Whether the answer is to be lost; counts it."""
        left = self._weather.dropping.get(api_key, 0)
        if left:
            self._weather.dropping[api_key] = left - 1
        return left is None or left > 0


def names(frame: bytes, topic: bytes) -> bool:
    """Whether a request names a topic: as a string with its length, in the old or the compact form."""
    return struct.pack(">h", len(topic)) + topic in frame or bytes([len(topic) + 1]) + topic in frame


async def frames(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Whole requests or answers with their length; the beginning of one that never ended is dropped."""
    try:
        while True:
            size = await reader.readexactly(4)
            yield size + await reader.readexactly(struct.unpack(">i", size)[0])
    except asyncio.IncompleteReadError:
        return
