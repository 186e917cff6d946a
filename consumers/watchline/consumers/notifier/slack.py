"""Slack's incoming webhooks: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
from pydantic import SecretStr

from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.blocks import fallback, render
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.http import MESSAGE_ERRORS, NEVER_SENT, Client, Locate, word_of
from watchline.consumers.notifier.retry import retry_after
from watchline.schemas.errors import Misconfigured
from watchline.schemas.failpoints import failpoint

MAX_ANSWER_BYTES = 512  # Slack answers with a word; whatever sends more is not read to its end


class SlackChannel:
    """Posts messages to one webhook; the address appears in no error and no log, not even in httpx's own.

    A webhook can't be asked what it has taken, so a message that may have come before says so. `locate` and `tls` are
    those of the client.
    """

    edits = False

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
        path = httpx.URL(url.get_secret_value()).raw_path.decode("ascii")
        secrets = [url, *([SecretStr(path)] if len(path) > 1 else [])]
        self._client = Client(*secrets, timeout=timeout, locate=locate, tls=tls)

    async def send(self, message: Message) -> Outcome:
        """Post once, and a second time without blocks when Slack refuses the message for its form."""
        repeated = message.in_doubt_since is not None
        outcome = await self._post(render(message, repeated=repeated))
        if outcome.result == "rejected" and not outcome.broken:
            outcome = await self._post(fallback(message, repeated=repeated))
        return replace(outcome, detail="repeated") if repeated and outcome.result == "accepted" else outcome

    async def close(self) -> None:
        await self._client.close()

    async def _post(self, payload: dict[str, Any]) -> Outcome:
        try:
            # httpx limits each read; a server that drips byte after byte needs a limit over all.
            async with asyncio.timeout(self._client.timeout):
                return await self._exchange(payload)
        except Misconfigured:
            return Outcome("rejected", detail="refused_address", broken=True)
        except NEVER_SENT as error:
            return Outcome("retry", detail=type(error).__name__)
        except (httpx.TransportError, httpx.DecodingError, TimeoutError, OSError) as error:
            # The text of these errors can contain the address.
            return Outcome("retry", detail=type(error).__name__, unknown=True)

    async def _exchange(self, payload: dict[str, Any]) -> Outcome:
        async with self._client.post(self._url.get_secret_value(), {}, json=payload) as response:
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
    detail = word_of(body)
    if status == 429:
        return Outcome("retry", status, detail, retry_after=retry_after(asked, now))
    if status >= 500 or status == 408:
        return Outcome("retry", status, detail)
    return Outcome("rejected", status, detail, broken=body not in MESSAGE_ERRORS)
