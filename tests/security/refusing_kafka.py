"""A Kafka that knows how to log in, and lets nobody in."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

VERSIONS, HANDSHAKE, AUTHENTICATE = 18, 17, 36
KNOWN = {VERSIONS: (0, 0), HANDSHAKE: (1, 1), AUTHENTICATE: (0, 0)}
REFUSED = 58  # SASL_AUTHENTICATION_FAILED


@dataclass
class RefusingKafka:
    """`logins` are the tokens that it was given."""

    address: str = ""
    logins: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = await reader.readexactly(size)
                key, _, correlation, client = struct.unpack_from(">hhih", request)
                body = self.answer(key, request[10 + max(client, 0) :])
                writer.write(struct.pack(">ii", len(body) + 4, correlation) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer(self, key: int, body: bytes) -> bytes:
        if key == HANDSHAKE:
            return struct.pack(">hih5s", 0, 1, 5, b"PLAIN")
        if key == AUTHENTICATE:
            self.logins.append(body[4:])
            return struct.pack(">hh7si", REFUSED, 7, b"refused", 0)
        entries = b"".join(struct.pack(">hhh", name, *span) for name, span in KNOWN.items())
        return struct.pack(">hi", 0, len(KNOWN)) + entries


@asynccontextmanager
async def refusing_kafka() -> AsyncIterator[RefusingKafka]:
    kafka = RefusingKafka()
    server = await asyncio.start_server(kafka.serve, "127.0.0.1", 0)
    kafka.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield kafka
