"""Slack's incoming webhooks: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

import httpx
from pydantic import SecretStr

from watchline.consumers.notifier.blocks import fallback, render
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.grouping import Message
from watchline.consumers.notifier.retry import retry_after
from watchline.consumers.notifier.wording import printable
from watchline.schemas.failpoints import failpoint

CONNECT_SECONDS = 3.0
MAX_ANSWER_BYTES = 512  # Slack answers with a word; whatever sends more is not read to its end
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
    """Posts messages to one webhook; the address appears in no error and no log, not even in httpx's own."""

    def __init__(self, url: SecretStr, *, name: str = "slack", timeout: float = 10.0) -> None:
        self.name = name
        self._url = url
        self._timeout = timeout
        self._redaction = _Redaction(url)
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)), follow_redirects=False
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
        except (httpx.TransportError, httpx.DecodingError, TimeoutError, OSError) as error:
            # The text of these errors can contain the address.
            return Outcome("retry", detail=type(error).__name__)

    async def _exchange(self, payload: dict[str, Any]) -> Outcome:
        # identity: a compressed answer could unfold to more than the limit before we see it
        headers = {"accept-encoding": "identity"}
        async with self._client.stream("POST", self._url.get_secret_value(), json=payload, headers=headers) as response:
            failpoint("N2")  # the answer is not read: the message counts as unsent
            body = b""
            async for chunk in response.aiter_raw(MAX_ANSWER_BYTES):
                body += chunk
                if len(body) >= MAX_ANSWER_BYTES:
                    break
            answer = body[:MAX_ANSWER_BYTES].decode("utf-8", "replace").strip()
            return classify(response.status_code, answer, response.headers.get("retry-after"), datetime.now(UTC))


def classify(status: int, body: str, asked: str | None, now: datetime) -> Outcome:
    """What an answer of Slack means for the message and for the channel."""
    if status == 200 and body == "ok":
        return Outcome("accepted", status)
    detail = printable(body, 80) or None
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
