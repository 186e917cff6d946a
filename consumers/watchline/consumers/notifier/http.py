"""What requests to Slack have in common, over a webhook or with a token."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
from pydantic import SecretStr

CONNECT_SECONDS = 3.0
WORD = re.compile(r"[a-z_]{1,64}")
# Answers that blame the message: another one may be accepted.
MESSAGE_ERRORS = frozenset(
    {
        "invalid_payload",
        "invalid_blocks",
        "invalid_blocks_format",
        "invalid_attachments",
        "invalid_arguments",
        "invalid_metadata_format",
        "invalid_metadata_schema",
        "metadata_too_large",
        "msg_blocks_too_long",
        "msg_too_long",
        "no_text",
    }
)
# The request has not left, so nobody can have accepted it.
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
HTTP_LOGGERS = (
    "httpx",
    "httpcore",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
)
Locate = Callable[[str], list[str]]


class Client:
    """Posts to Slack, follows no redirect, and keeps `secrets` out of what httpx logs.

    `locate` gives the network addresses of a host and raises `Misconfigured` when one must not be connected to; without
    it the host is looked up by httpx. `tls` is what the server's certificate is checked with, `timeout` is in seconds.
    """

    def __init__(
        self, *secrets: SecretStr, timeout: float, locate: Locate | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.timeout = timeout
        self._locate = locate
        self._redaction = Redaction(*secrets)
        self._http = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
            follow_redirects=False,
            verify=tls or True,
            trust_env=False,  # a proxy would look the host up again, where we can't see what it finds
        )
        for logger in HTTP_LOGGERS:
            logging.getLogger(logger).addFilter(self._redaction)

    @asynccontextmanager
    async def post(self, address: str, headers: Mapping[str, str], **body: Any) -> AsyncIterator[httpx.Response]:
        """The answer, its body unread, of the first address of the host that takes a connection."""
        url = httpx.URL(address)
        async with AsyncExitStack() as stack:
            yield await self._first(stack, url, headers, body)

    async def _first(
        self, stack: AsyncExitStack, url: httpx.URL, headers: Mapping[str, str], body: Mapping[str, Any]
    ) -> httpx.Response:
        # identity: a compressed answer could unfold to more than the limit before we see it
        headers = {**headers, "accept-encoding": "identity"}
        if self._locate is None:
            return await stack.enter_async_context(self._http.stream("POST", url, headers=headers, **body))
        unreached: httpx.TransportError = httpx.ConnectError("the host has no address")
        named = {**headers, "host": url.netloc.decode()}
        for address in await asyncio.to_thread(self._locate, url.host):
            there = url.copy_with(host=address)
            asked = self._http.stream("POST", there, headers=named, extensions={"sni_hostname": url.host}, **body)
            try:
                return await stack.enter_async_context(asked)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                unreached = error
        raise unreached

    async def close(self) -> None:
        await self._http.aclose()
        for logger in HTTP_LOGGERS:
            logging.getLogger(logger).removeFilter(self._redaction)


def word_of(text: str) -> str | None:
    """A word of Slack's; nothing else is kept: a page of somebody else's may repeat what is secret."""
    return text if WORD.fullmatch(text) else None


class Redaction(logging.Filter):
    """Takes secrets out of what httpx logs: it logs the address of every request at INFO."""

    def __init__(self, *secrets: SecretStr) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        hidden = text
        for secret in self._secrets:
            hidden = hidden.replace(secret.get_secret_value(), "[secret]")
        if hidden != text:
            record.msg, record.args = hidden, ()
        return True
