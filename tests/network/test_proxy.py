"""The proxy by its bytes, before any test relies on it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from brokers.databases import Postgres
from network.peers import PATIENCE, Client, Heard, echoing
from network.proxy import Proxy, in_a_thread

Connect = Callable[[], Client]


@pytest.fixture
async def echo() -> AsyncIterator[Heard]:
    async with echoing() as heard:
        yield heard


@pytest.fixture
async def proxy(echo: Heard) -> AsyncIterator[Proxy]:
    async with Proxy("127.0.0.1", echo.port) as started:
        yield started


async def test_in_fair_weather_everything_passes_and_an_end_is_an_end(connect: Connect) -> None:
    client = connect()
    text = bytes(range(256)) * 20_000

    got = await client.ask(text)
    client.end()

    assert got == text
    assert await client.hear(1) == b""


async def test_a_cut_resets_open_connections_and_new_ones_until_it_heals(proxy: Proxy, connect: Connect) -> None:
    before = connect()
    await before.ask(b"hello")

    proxy.cut()

    with pytest.raises(ConnectionResetError):
        await before.hear(1)
    with pytest.raises(ConnectionResetError):
        await connect().hear(1)
    proxy.heal()
    assert await connect().ask(b"again") == b"again"


async def test_a_blackhole_accepts_and_says_nothing_until_it_heals(proxy: Proxy, echo: Heard, connect: Connect) -> None:
    before = connect()
    await before.ask(b"hello")

    proxy.blackhole()
    answers = [asyncio.create_task(client.ask(b"silence")) for client in (before, connect())]
    done, _ = await asyncio.wait(answers, timeout=0.2)

    assert done == set()
    assert echo.pieces == [b"hello"]
    proxy.heal()
    assert await asyncio.gather(*answers) == [b"silence"] * 2


async def test_a_delay_holds_back_both_ways(proxy: Proxy, connect: Connect) -> None:
    client = connect()
    began = asyncio.get_running_loop().time()

    proxy.delay(0.1)
    got = await client.ask(b"slow")

    assert got == b"slow"
    assert asyncio.get_running_loop().time() - began >= 0.2


@pytest.mark.parametrize("count", [1, 3, 4, 7])
async def test_a_connection_ends_after_exactly_so_many_bytes(
    proxy: Proxy, echo: Heard, connect: Connect, count: int
) -> None:
    client = connect()
    await client.ask(b"before")

    proxy.close_after(count)
    await client.say(b"1234")
    got = await client.hear(max(count - 4, 0))

    with pytest.raises(ConnectionResetError):
        await client.hear(1)
    assert got == b"1234"[: max(count - 4, 0)]
    assert b"".join(echo.pieces[1:]) == b"1234"[:count]


async def test_a_server_that_is_away_is_seen_as_a_reset() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        async with Proxy("127.0.0.1", nobody.getsockname()[1]) as proxy:
            client = Client(proxy.port)

            with pytest.raises(ConnectionResetError):
                await client.hear(1)
            client.close()


def test_it_runs_in_a_thread_of_its_own_for_tests_that_block(postgres: Postgres) -> None:
    host, port = postgres.dsn.rpartition("@")[2].partition("/")[0].split(":")
    with in_a_thread(Proxy(host, int(port))) as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as client:
        client.sendall(b"\x00\x00\x00\x08\x04\xd2\x16\x2f")  # asks whether Postgres speaks TLS
        answer = client.recv(1)

        proxy.cut()

        assert answer in {b"N", b"S"}
        with pytest.raises(ConnectionResetError):
            client.recv(1)


async def test_postgres_through_a_cut_is_an_error_and_after_it_answers_again(postgres: Postgres) -> None:
    host, port = postgres.dsn.rpartition("@")[2].partition("/")[0].split(":")
    async with Proxy(host, int(port)) as proxy:
        dsn = postgres.dsn.replace(f"{host}:{port}", proxy.address)
        connection = await asyncpg.connect(dsn)
        asking = asyncio.create_task(connection.fetchval("select 1 from pg_sleep(30)"))
        await asyncio.sleep(0)

        proxy.cut()

        with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            await asyncio.wait_for(asking, PATIENCE)
        proxy.heal()
        again = await asyncpg.connect(dsn)
        assert await again.fetchval("select 1") == 1
        await again.close()
