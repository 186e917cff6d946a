"""One connection through a proxy: a pump each way, and its sudden end."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator

from network.weather import Weather

CHUNK = 1024 * 1024
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Link:
    """Carries bytes between two open connections until either ends."""

    def __init__(self, client: Streams, server: Streams, weather: Weather) -> None:
        self._client, self._server = client, server
        self._weather = weather
        self._pumps: list[asyncio.Task[None]] = []
        self.carried = 0

    async def carry(self) -> None:
        """Return when either side has ended; what it said last has arrived at the other."""
        self._pumps = [
            asyncio.ensure_future(self._pump(self.requests(self._client[0]), self._server[1])),
            asyncio.ensure_future(self._pump(self.responses(self._server[0]), self._client[1])),
        ]
        await asyncio.wait(self._pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in self._pumps:
            pump.cancel()
        await asyncio.wait(self._pumps)
        for _, writer in (self._client, self._server):
            writer.close()

    def reset(self) -> None:
        """RST both sides; `carry` returns."""
        for _, writer in (self._client, self._server):
            reset(writer)
        for pump in self._pumps:
            pump.cancel()

    def requests(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """What the client says, in pieces that may pass."""
        return chunks(reader)

    def responses(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """What the server says, in pieces that may pass."""
        return chunks(reader)

    async def _pump(self, pieces: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
        try:
            async for piece in pieces:
                await self._deliver(piece, writer)
        except ConnectionError:
            pass  # one side has gone: `carry` ends the other
        await self._weather.until(lambda: not self._weather.silent)  # an end is not heard through silence either

    async def _deliver(self, piece: bytes, writer: asyncio.StreamWriter) -> None:
        if self._weather.delay:
            await asyncio.sleep(self._weather.delay)
        await self._weather.until(lambda: not self._weather.silent)
        limit = self._weather.limit
        rest = None if limit is None else max(limit - self.carried, 0)
        self.carried += len(piece)
        writer.write(piece[:rest])
        await writer.drain()
        if rest is not None and rest <= len(piece):
            self.reset()


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Bytes as they come."""
    while chunk := await reader.read(CHUNK):
        yield chunk


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection by RST: the other side gets an error and not an end."""
    if not writer.transport.is_closing():
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
