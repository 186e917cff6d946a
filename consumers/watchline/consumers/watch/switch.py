"""The dead man's switch: somebody outside is called while all is well, and calls us when that stops.

A monitor can't tell of its own death. So an address of Healthchecks.io, Dead Man's Snitch, Cronitor or the like is
pinged, and only while the whole loop works: pulse, Kafka, streams, sink, Postgres, notifier.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable

import httpx
import structlog
from pydantic import SecretStr

from watchline.consumers.pause import pause
from watchline.consumers.watch.settings import WatchSettings
from watchline.consumers.watch.vitals import Vitals

PING_SECONDS = 10.0
CONNECT_SECONDS = 3.0
LOOKS = 3  # that may fail in a row before the loop counts as broken
GLANCE_SECONDS = 1.0
HTTP_LOGGERS = ("httpx", "httpcore", "httpcore.connection", "httpcore.http11", "httpcore.proxy")
Locate = Callable[[str], list[str]]

log = structlog.get_logger(__name__)


class DeadManSwitch:
    """Pings one address, which appears in no error and no log, and counts; redirects and proxies are not followed.

    `locate` gives the network addresses of a host and raises `Misconfigured` when one must not be connected to.
    """

    def __init__(self, url: SecretStr, *, locate: Locate | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.pings = 0
        self.failures = 0  # in a row
        self._url, self._locate = url, locate
        self._redaction = _Redaction(url)
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(PING_SECONDS, connect=CONNECT_SECONDS), follow_redirects=False, verify=tls or True,
            trust_env=False,
        )  # fmt: skip
        for logger in HTTP_LOGGERS:
            logging.getLogger(logger).addFilter(self._redaction)

    async def ping(self) -> bool:
        """Call once; whether it was heard. Never raises."""
        try:
            async with asyncio.timeout(PING_SECONDS):
                status = await self._call()
        except Exception as error:  # noqa: BLE001 - counted and logged: whatever it is, the next ping may do better
            return self._failed(type(error).__name__)  # the text of these errors can contain the address
        if not 200 <= status < 300:
            return self._failed(f"status {status}")
        self.pings, self.failures = self.pings + 1, 0
        log.debug("switch.pinged", pings=self.pings)
        return True

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()
        for logger in HTTP_LOGGERS:
            logging.getLogger(logger).removeFilter(self._redaction)

    def _failed(self, detail: str) -> bool:
        self.failures += 1
        log.warning("switch.unheard", detail=detail, failures=self.failures)
        return False

    async def _call(self) -> int:
        """The status that the first address of the host which takes a connection answers; the body is not read."""
        url = httpx.URL(self._url.get_secret_value())
        if self._locate is None:
            return await self._post(url, {}, {})
        unreached: httpx.TransportError = httpx.ConnectError("the host has no address")
        for address in await asyncio.to_thread(self._locate, url.host):
            named, extensions = {"host": url.netloc.decode()}, {"sni_hostname": url.host}
            try:
                return await self._post(url.copy_with(host=address), named, extensions)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                unreached = error
        raise unreached

    async def _post(self, url: httpx.URL, headers: dict[str, str], extensions: dict[str, str]) -> int:
        async with self._client.stream("POST", url, headers=headers, extensions=extensions) as response:
            return response.status_code


async def keep_pinging(switch: DeadManSwitch, settings: WatchSettings, vitals: Vitals, stop: asyncio.Event) -> None:
    """Ping every so often while the loop works; say once when it stops working, and ping as soon as it works again."""
    withheld = False
    while not stop.is_set():
        look = LOOKS * settings.ingestion_look_seconds
        if vitals.works(time.monotonic(), look=look, passage=settings.dead_man_stuck_seconds):
            withheld = False
            await switch.ping()
            await pause(stop, settings.dead_man_seconds)
        else:
            if not withheld:
                log.warning("switch.withheld", reason="the loop from the pulse to the notifier does not work")
            withheld = True
            await pause(stop, min(settings.dead_man_seconds, GLANCE_SECONDS))


class _Redaction(logging.Filter):
    """httpx logs the address of every request at INFO; the path is the secret."""

    def __init__(self, url: SecretStr) -> None:
        super().__init__()
        self._url = url

    def filter(self, record: logging.LogRecord) -> bool:
        url, text = self._url.get_secret_value(), record.getMessage()
        path = httpx.URL(url).raw_path.decode("ascii")
        if url in text or (len(path) > 1 and path in text):
            record.msg, record.args = text.replace(url, "[switch]").replace(path, "[switch]"), ()
        return True
