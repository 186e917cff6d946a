"""A webhook goes to the host that was allowed and looked at, and to no other place."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from security.certificates import self_signed
from slack.fake import Answer, FakeSlack
from slack.incidents import incident, message
from watchline.consumers.notifier.address import check_webhook, is_public, public_addresses
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.channels import open_channels
from watchline.consumers.notifier.settings import NotifierSettings
from watchline.consumers.notifier.slack import SlackChannel
from watchline.schemas.errors import Misconfigured

HOST = "hooks.example"
PATH = "/services/T0/B0/canary-secret-in-the-path"
PUBLIC = "3.95.117.96"
MESSAGE = message(incident())
PRIVATE = [
    "127.0.0.1",
    "127.8.9.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "198.18.0.1",
    "::1",
    "::",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "64:ff9b:1::a00:1",
    "64:ff9b:1::808:808",
    "fec0::1",
    "feff::1",
    "::ffff:0:a00:1",
    "::ffff:0:808:808",
    "::808:808",
    "5f00::1",
    "4000::1",
]


@dataclass
class Place:
    """A server that says `ok` to everybody, and remembers what it was told."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def place(tls: ssl.SSLContext | None = None) -> AsyncIterator[Place]:
    opened = Place()
    server = await asyncio.start_server(opened.answer, "127.0.0.1", 0, ssl=tls)
    opened.port = server.sockets[0].getsockname()[1]
    async with server:
        yield opened


async def post(channel: SlackChannel) -> Outcome:
    try:
        return await channel.send(MESSAGE)
    finally:
        await channel.close()


@pytest.mark.parametrize("address", PRIVATE)
def test_no_private_address_passes_for_a_public_one(address: str) -> None:
    assert not is_public(address)
    with pytest.raises(Misconfigured, match="private"):
        public_addresses(HOST, resolve=lambda _: [PUBLIC, address])


@pytest.mark.parametrize("address", [PUBLIC, "2606:4700::1", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_a_public_address_is_one(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0"])
def test_a_spelling_of_this_machine_is_refused_even_when_its_host_is_allowed(host: str) -> None:
    with pytest.raises(Misconfigured, match=r"private|is no name"):
        check_webhook(f"https://{host}{PATH}", [host])


@pytest.mark.parametrize(
    "host",
    ["localhost.", "hooks.slack.com.", "hooks.slack.com@evil.example", "HOOKS.SLACK.COM.evil", "[::1]", "1.1.1.1"],
)
def test_a_host_that_looks_like_an_allowed_one_is_refused(host: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        check_webhook(f"https://{host}{PATH}", ["hooks.slack.com"], resolve=lambda _: [PUBLIC])

    assert "canary" not in f"{caught.value} {caught.value.hint}"


async def test_a_name_that_is_bound_anew_after_the_check_is_not_connected_to() -> None:
    async with place() as inside:
        url = f"https://{HOST}:443{PATH}"
        answers = iter([[PUBLIC], ["127.0.0.1"]])
        resolve = partial(next, answers)
        check_webhook(url, [HOST], resolve=lambda _: resolve())

        channel = SlackChannel(SecretStr(url), locate=partial(public_addresses, resolve=lambda _: resolve()))
        outcome = await post(channel)

    assert outcome == Outcome("rejected", detail="refused_address", broken=True)
    assert inside.heard == []


@pytest.mark.parametrize(
    "way",
    [
        {"slack_webhook_url": SecretStr(f"https://hooks.slack.com{PATH}")},
        {"slack_bot_token": SecretStr("xoxb-canary"), "slack_channel": "C000DATA"},
    ],
    ids=["webhook", "bot"],
)
async def test_a_notifier_looks_its_host_up_anew_before_it_sends(
    way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([PUBLIC, "127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", (next(answers), 443))])

    (channel,) = open_channels(NotifierSettings(postgres_dsn=SecretStr("unused"), **way)).all
    outcome = await channel.send(MESSAGE)
    await channel.close()

    assert outcome.detail == "refused_address"


async def test_the_request_goes_to_the_address_that_was_looked_at_under_the_name_of_the_host() -> None:
    async with place() as there:
        url = f"http://{HOST}:{there.port}{PATH}"

        outcome = await post(SlackChannel(SecretStr(url), locate=lambda _: ["127.0.0.1"]))

    assert outcome == Outcome("accepted", 200)
    assert f"host: {HOST}:{there.port}".encode() in there.heard[0].lower()


async def test_an_address_that_takes_no_connection_is_followed_by_the_next() -> None:
    async with place() as there:
        url = f"http://{HOST}:{there.port}{PATH}"

        outcome = await post(SlackChannel(SecretStr(url), locate=lambda _: ["127.0.0.9", "127.0.0.1"]))

    assert outcome.result == "accepted"


async def test_a_host_without_an_address_is_tried_again_later() -> None:
    outcome = await post(SlackChannel(SecretStr(f"https://{HOST}{PATH}"), locate=lambda _: []))

    assert outcome == Outcome("retry", detail="ConnectError")


@pytest.mark.parametrize(("certified", "result"), [(HOST, "accepted"), ("other.example", "retry")])
async def test_the_certificate_has_to_be_that_of_the_host_and_not_of_its_address(
    certified: str, result: str, tmp_path: Path
) -> None:
    server, client = self_signed(tmp_path, certified)
    async with place(server) as there:
        url = f"https://{HOST}:{there.port}{PATH}"

        outcome = await post(SlackChannel(SecretStr(url), locate=lambda _: ["127.0.0.1"], tls=client))

    assert outcome.result == result
    assert len(there.heard) == (result == "accepted")


@pytest.fixture
def _proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")


@pytest.mark.usefixtures("_proxy")
async def test_a_proxy_of_the_environment_is_not_asked() -> None:
    async with place() as there:
        url = f"http://{HOST}:{there.port}{PATH}"

        outcome = await post(SlackChannel(SecretStr(url), locate=lambda _: ["127.0.0.1"]))

    assert outcome.result == "accepted"


@pytest.mark.parametrize("status", [200, 400, 404, 429, 500])
async def test_an_answer_that_repeats_the_path_is_kept_nowhere(status: int) -> None:
    async with FakeSlack() as slack:
        slack.default = Answer(status, f"Cannot POST {slack.path}")

        outcome = await post(SlackChannel(SecretStr(slack.url)))

    assert outcome.detail is None
