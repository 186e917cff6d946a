"""Whom Watchline talks to under TLS, and whom it refuses: Postgres, and Kafka before its first word."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from brokers.databases import Postgres
from network.authority import Authority
from network.tls import behind_tls
from watchline.cli.handshake import find_refusal
from watchline.cli.reach import check_postgres
from watchline.consumers.database import connect
from watchline.consumers.migrations import migrate
from watchline.schemas import KafkaConnection, Misconfigured


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("theirs"), "theirs")


@pytest.fixture
async def port(postgres: Postgres, ours: Authority) -> AsyncIterator[int]:
    async with behind_tls(postgres, ours.sign("postgres", host="localhost")) as listening:
        yield listening


def dsn_of(database: str, host: str, port: int, cafile: Path) -> str:
    login, name = database.partition("@")[0], database.rpartition("/")[2]
    return f"{login}@{host}:{port}/{name}?sslmode=verify-full&sslrootcert={cafile}"


async def test_postgres_of_our_authority_is_migrated_and_written_under_verify_full(
    port: int, ours: Authority, empty_database: str
) -> None:
    dsn = dsn_of(empty_database, "localhost", port, ours.cafile)

    await check_postgres(dsn)
    applied = await migrate(dsn)
    connection = await connect(dsn, application="test")

    assert applied
    assert await connection.fetchval("select count(*) from runs") == 0
    await connection.close()


@pytest.mark.parametrize(("host", "known"), [("localhost", False), ("127.0.0.1", True)])
async def test_postgres_of_another_authority_or_name_is_refused_without_its_password(
    host: str, known: bool, port: int, ours: Authority, theirs: Authority, database: str
) -> None:
    dsn = dsn_of(database, host, port, (ours if known else theirs).cafile)
    password = database.partition("@")[0].rpartition(":")[2]

    for attempt in (check_postgres, migrate):
        with pytest.raises(Misconfigured, match="the certificate of Postgres is refused") as caught:
            await attempt(dsn)
        assert password not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("host", "known", "reason"),
    [("localhost", False, "certificate"), ("127.0.0.1", True, r"127\.0\.0\.1"), ("localhost", True, None)],
)
async def test_a_kafka_is_refused_for_its_certificate_and_the_reason_is_said(
    host: str, known: bool, reason: str | None, ours: Authority, theirs: Authority
) -> None:
    certificate = ours.sign("kafka", host="localhost")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate.certfile, certificate.keyfile)
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context) as server:
        address = f"{host}:{server.sockets[0].getsockname()[1]}"
        cafile = str((ours if known else theirs).cafile)

        found = await find_refusal(
            KafkaConnection(bootstrap_servers=address, security_protocol="SSL", ssl_cafile=cafile)
        )

    assert (found is None) is (reason is None)
    if reason:
        with pytest.raises(Misconfigured, match=reason):
            raise found or AssertionError
