"""The two ends of a proxy in its tests: a bare client, a server that echoes, one that answers frames as Kafka does."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from network.kafka import frames

PATIENCE = 10.0


@dataclass
class Heard:
    """A server's port and what reached it."""

    port: int = 0
    pieces: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def echoing() -> AsyncIterator[Heard]:
    """Sends back what it gets."""
    heard = Heard()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(65536):
                heard.pieces.append(piece)
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass  # what the tests do to it
        writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
        heard.port = server.sockets[0].getsockname()[1]
        yield heard


@asynccontextmanager
async def answering() -> AsyncIterator[Heard]:
    """Answers each frame by its correlation id alone, in order."""
    heard = Heard()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async for frame in frames(reader):
                heard.pieces.append(frame)
                writer.write(struct.pack(">i", 4) + frame[8:12])
        except ConnectionError:
            pass  # what the tests do to it
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        heard.port = server.sockets[0].getsockname()[1]
        yield heard


class Client:
    """A bare connection: it gets every byte that came before a reset, and then the reset."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setblocking(False)

    async def say(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def hear(self, count: int) -> bytes:
        """So many bytes, fewer at an end; ConnectionResetError at a reset."""
        heard = b""
        async with asyncio.timeout(PATIENCE):
            while len(heard) < count:
                piece = await asyncio.get_running_loop().sock_recv(self._socket, count - len(heard))
                if not piece:
                    break
                heard += piece
        return heard

    async def ask(self, text: bytes) -> bytes:
        """Say it and hear as much back, both at once."""
        heard, _ = await asyncio.gather(self.hear(len(text)), self.say(text))
        return heard

    def end(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()
