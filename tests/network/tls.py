"""TLS in front of a Postgres that has none: the embedded one is built without it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from brokers.databases import Postgres
from network.authority import Certificate
from network.link import Link, Streams
from network.weather import Weather

WANTS_TLS = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"


@asynccontextmanager
async def behind_tls(postgres: Postgres, certificate: Certificate) -> AsyncIterator[int]:
    """The port of a listener that speaks TLS as Postgres does, and plain text with the real one behind it."""
    upstream = urlsplit(postgres.dsn)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate.certfile, certificate.keyfile)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = await greet((reader, writer), context)
        if client is None:
            writer.close()
            return
        await Link(client, await asyncio.open_connection(upstream.hostname, upstream.port), Weather()).carry()

    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def greet(client: Streams, context: ssl.SSLContext) -> Streams | None:
    """The connection under TLS; None when the client asks for none, or thinks better of it."""
    reader, writer = client
    if await reader.readexactly(len(WANTS_TLS)) != WANTS_TLS:
        return None
    writer.write(b"S")
    try:
        await writer.start_tls(context)
    except (ssl.SSLError, ConnectionError):
        return None
    return reader, writer
