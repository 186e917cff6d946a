"""Slack's Web API with a bot token: one request, and what its answer means.

https://docs.slack.dev/reference/methods/chat.postMessage lists the errors of an answer with status 200.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import structlog
from pydantic import SecretStr

from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.http import MESSAGE_ERRORS, NEVER_SENT, Client, Locate, word_of
from watchline.consumers.notifier.retry import retry_after
from watchline.schemas.errors import Misconfigured
from watchline.schemas.failpoints import failpoint

MAX_ANSWER_BYTES = 4 << 20  # a page of a hundred messages with all their blocks
TOKEN_REFUSED_SECONDS = 600.0  # then one request tries whether the token is good again
# The token, not the channel or the message, is to blame: nothing can be sent with it.
TOKEN_ERRORS = frozenset(
    {
        "access_denied",
        "account_inactive",
        "ekm_access_denied",
        "enterprise_is_restricted",
        "invalid_auth",
        "missing_scope",
        "no_permission",
        "not_allowed_token_type",
        "not_authed",
        "org_login_required",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
        "two_factor_setup_required",
    }
)
# The server failed, and may have done the work: `fatal_error` says so in its description.
SERVER_ERRORS = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
RATE_ERRORS = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})

log = structlog.get_logger(__name__)


class Refused(Exception):
    """Slack did not do it; `error` is its word for why, empty when it gave none."""

    def __init__(self, outcome: Outcome, error: str = "") -> None:
        super().__init__(error)
        self.outcome = outcome
        self.error = error


class Workspace:
    """Calls methods of the Web API; the token appears in no error and no log.

    A token that Slack refuses is not tried again for ten minutes, by none of the channels that share it.
    """

    def __init__(
        self,
        token: SecretStr,
        url: str,
        *,
        timeout: float = 10.0,
        locate: Locate | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._token = token
        self._url = url.rstrip("/") + "/"
        self._clock = clock
        self._refused_until = 0.0
        self._refusal = ""
        self._client = Client(token, timeout=timeout, locate=locate)

    async def call(self, method: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of a method; `Refused` when it isn't `ok`."""
        if self._clock() < self._refused_until:
            raise Refused(_token_refused(None, self._refusal), self._refusal)
        try:
            # httpx limits each read; a server that drips byte after byte needs a limit over all.
            async with asyncio.timeout(self._client.timeout):
                status, body, asked = await self._exchange(method, payload)
        except Misconfigured:
            raise Refused(Outcome("rejected", detail="refused_address", broken=True)) from None
        except NEVER_SENT as error:
            raise Refused(Outcome("retry", detail=type(error).__name__)) from None
        except (httpx.TransportError, httpx.DecodingError, TimeoutError, OSError) as error:
            raise Refused(Outcome("retry", detail=type(error).__name__, unknown=True)) from None
        answer = read_answer(body)
        if status == 200 and answer.get("ok") is True:
            return answer
        error_code = word_of(str(answer.get("error"))) or ""
        outcome = judge(status, error_code, asked, datetime.now(UTC))
        if error_code in TOKEN_ERRORS and method.startswith("chat."):
            self._refuse(error_code)
        raise Refused(outcome, error_code)

    async def close(self) -> None:
        await self._client.close()

    def _refuse(self, error: str) -> None:
        self._refused_until = self._clock() + TOKEN_REFUSED_SECONDS
        self._refusal = error
        hint = "nothing is sent with this token: check WATCHLINE_SLACK_BOT_TOKEN and its scopes, see docs/alerts.md"
        log.error("slack.token_refused", error=error, hint=hint)

    async def _exchange(self, method: str, payload: Mapping[str, Any]) -> tuple[int, bytes, str | None]:
        writes = method.startswith("chat.")
        headers = {"authorization": f"Bearer {self._token.get_secret_value()}"}
        body = {"json": dict(payload)} if writes else {"data": dict(payload)}  # methods that read take no JSON
        async with self._client.post(self._url + method, headers, **body) as response:
            if writes:
                failpoint("N2")  # the answer is not read: the message counts as unsent
            read = bytearray()
            async for chunk in response.aiter_raw():
                read += chunk
                if len(read) > MAX_ANSWER_BYTES:
                    break
            return response.status_code, bytes(read), response.headers.get("retry-after")


def read_answer(body: bytes) -> dict[str, Any]:
    """The JSON object of an answer; empty when it is none."""
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def judge(status: int, error: str, asked: str | None, now: datetime) -> Outcome:
    """What an answer that isn't `ok` means for the message, the channel and the token."""
    detail = error or None
    if status == 429 or error in RATE_ERRORS:
        return Outcome("retry", status, detail, retry_after=retry_after(asked, now))
    if status >= 500 or status == 408 or error in SERVER_ERRORS:
        return Outcome("retry", status, detail, unknown=True)
    if error in TOKEN_ERRORS:
        return _token_refused(status, error)
    return Outcome("rejected", status, detail, broken=error not in MESSAGE_ERRORS)


def _token_refused(status: int | None, error: str) -> Outcome:
    """No alert is to blame for it, so they wait."""
    return Outcome("retry", status, error, broken=True)
