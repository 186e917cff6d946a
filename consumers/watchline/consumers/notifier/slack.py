"""Slack's incoming webhooks: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
from pydantic import SecretStr

from watchline.consumers.notifier.blocks import fallback, render
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.grouping import Message
from watchline.consumers.notifier.retry import retry_after
from watchline.schemas.errors import Misconfigured
from watchline.schemas.failpoints import failpoint

CONNECT_SECONDS = 3.0
MAX_ANSWER_BYTES = 512  # Slack answers with a word; whatever sends more is not read to its end
WORD = re.compile(r"[a-z_]{1,64}")
Locate = Callable[[str], list[str]]
# Answers that blame the message: another one may be accepted.
MESSAGE_ERRORS = frozenset({"invalid_payload", "invalid_blocks", "invalid_attachments", "no_text", "msg_too_long"})
HTTP_LOGGERS = (
    "httpx",
    "httpcore",
    "httpcore.connection",
    "httpcore.http11",
    "httpcore.http2",
    "httpcore.proxy",
)


class SlackChannel:
    """Posts messages to one webhook; the address appears in no error and no log, not even in httpx's own.

    `locate` gives the network addresses of a host and raises `Misconfigured` when one must not be connected to; without
    it the host is looked up by httpx. `tls` is what the server's certificate is checked with.
    """

    def __init__(
        self,
        url: SecretStr,
        *,
        name: str = "slack",
        timeout: float = 10.0,
        locate: Locate | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.name = name
        self._url = url
        self._timeout = timeout
        self._locate = locate
        self._redaction = _Redaction(url)
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
            follow_redirects=False,
            verify=tls or True,
            trust_env=False,  # a proxy would look the host up again, where we can't see what it finds
        )
        for logger in HTTP_LOGGERS:
            logging.getLogger(logger).addFilter(self._redaction)

    async def send(self, message: Message) -> Outcome:
        """Post once, and a second time without blocks when Slack refuses the message for its form."""
        outcome = await self._post(render(message))
        if outcome.result == "rejected" and not outcome.broken:
            outcome = await self._post(fallback(message))
        return outcome

    async def close(self) -> None:
        await self._client.aclose()
        for logger in HTTP_LOGGERS:
            logging.getLogger(logger).removeFilter(self._redaction)

    async def _post(self, payload: dict[str, Any]) -> Outcome:
        try:
            # httpx limits each read; a server that drips byte after byte needs a limit over all.
            async with asyncio.timeout(self._timeout):
                return await self._exchange(payload)
        except Misconfigured:
            return Outcome("rejected", detail="refused_address", broken=True)
        except (httpx.TransportError, httpx.DecodingError, TimeoutError, OSError) as error:
            # The text of these errors can contain the address.
            return Outcome("retry", detail=type(error).__name__)

    async def _exchange(self, payload: dict[str, Any]) -> Outcome:
        """Post to the first address of the host that takes a connection."""
        url = httpx.URL(self._url.get_secret_value())
        if self._locate is None:
            return await self._ask(url, payload, {}, {})
        unreached: httpx.TransportError = httpx.ConnectError("the host has no address")
        for address in await asyncio.to_thread(self._locate, url.host):
            try:
                return await self._ask(
                    url.copy_with(host=address), payload, {"host": url.netloc.decode()}, {"sni_hostname": url.host}
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                unreached = error
        raise unreached

    async def _ask(
        self, url: httpx.URL, payload: dict[str, Any], headers: dict[str, str], extensions: dict[str, Any]
    ) -> Outcome:
        # identity: a compressed answer could unfold to more than the limit before we see it
        headers = {**headers, "accept-encoding": "identity"}
        async with self._client.stream("POST", url, json=payload, headers=headers, extensions=extensions) as response:
            failpoint("N2")  # the answer is not read: the message counts as unsent
            body = b""
            async for chunk in response.aiter_raw(MAX_ANSWER_BYTES):
                body += chunk
                if len(body) >= MAX_ANSWER_BYTES:
                    break
            answer = body[:MAX_ANSWER_BYTES].decode("utf-8", "replace").strip()
            return classify(response.status_code, answer, response.headers.get("retry-after"), datetime.now(UTC))


def classify(status: int, body: str, asked: str | None, now: datetime) -> Outcome:
    """What an answer of Slack means for the message and for the channel.

    Only a word of Slack's is kept: a page of somebody else's may repeat the path, which is the secret.
    """
    if status == 200 and body == "ok":
        return Outcome("accepted", status)
    detail = body if WORD.fullmatch(body) else None
    if status == 429:
        return Outcome("retry", status, detail, retry_after=retry_after(asked, now))
    if status >= 500 or status == 408:
        return Outcome("retry", status, detail)
    return Outcome("rejected", status, detail, broken=body not in MESSAGE_ERRORS)


class _Redaction(logging.Filter):
    """httpx logs the address of every request at INFO."""

    def __init__(self, url: SecretStr) -> None:
        super().__init__()
        self._url = url

    def filter(self, record: logging.LogRecord) -> bool:
        url = self._url.get_secret_value()
        text = record.getMessage()
        secret = httpx.URL(url).raw_path.decode("ascii")
        if url in text or (len(secret) > 1 and secret in text):
            record.msg, record.args = text.replace(url, "[webhook]").replace(secret, "[webhook]"), ()
        return True
