"""Asking Kafka and Postgres within seconds whether they are there: a wrong address is said at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from watchline.cli.handshake import REFUSED_LOGIN, find_refusal, refused_login
from watchline.consumers.database import UNREADABLE, refused_certificate, unreadable_dsn
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.topics import Topics

PATIENCE_SECONDS = 3.0
OLD_SCHEMA = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError)
AWAY = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)


@asynccontextmanager
async def kafka_admin(kafka: KafkaConnection) -> AsyncIterator[AIOKafkaAdminClient]:
    """A connected admin client; Unavailable or Misconfigured names the address within PATIENCE_SECONDS."""
    admin = make_admin(kafka)
    try:
        try:
            await asyncio.wait_for(admin.start(), PATIENCE_SECONDS)
        except ValueError as error:
            raise unusable(kafka, error) from error
        except REFUSED_LOGIN as error:
            raise refused_login(kafka, error) from error
        except (KafkaError, OSError, TimeoutError) as error:
            if refusal := await find_refusal(kafka):
                raise refusal from error
            raise Unavailable(
                f"Kafka does not answer at {kafka.bootstrap_servers}",
                hint="check WATCHLINE_KAFKA_BOOTSTRAP_SERVERS and WATCHLINE_KAFKA_SECURITY_PROTOCOL; "
                "`watchline dev` starts a local broker",
            ) from error
        yield admin
    finally:
        await admin.close()


def make_admin(kafka: KafkaConnection) -> AIOKafkaAdminClient:
    """An admin client; Misconfigured when the settings contradict each other."""
    try:
        return AIOKafkaAdminClient(request_timeout_ms=int(PATIENCE_SECONDS * 1000), **kafka.client_arguments())
    except ValueError as error:
        raise unusable(kafka, error) from error


def unusable(kafka: KafkaConnection, error: ValueError) -> Misconfigured:
    """What to say of Kafka settings that the client can't begin anything with."""
    return Misconfigured(
        f"the settings for Kafka at {kafka.bootstrap_servers} can't be used: {error}",
        hint="write WATCHLINE_KAFKA_BOOTSTRAP_SERVERS as host:port[,host:port…]; SASL needs "
        "WATCHLINE_KAFKA_SASL_USERNAME and WATCHLINE_KAFKA_SASL_PASSWORD",
    )


@asynccontextmanager
async def postgres(dsn: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """An open connection; Unavailable or Misconfigured names the address within PATIENCE_SECONDS."""
    try:
        connection = await asyncio.wait_for(asyncpg.connect(dsn), PATIENCE_SECONDS)
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError) as error:
        raise Misconfigured(
            f"Postgres at {describe_dsn(dsn)} refuses the login: {error}",
            hint="check user, password and database in WATCHLINE_POSTGRES_DSN",
        ) from error
    except asyncpg.InterfaceError as error:
        raise Misconfigured(
            f"WATCHLINE_POSTGRES_DSN can't be used: {error}",
            hint="write it as postgresql://user:password@host:5432/database",
        ) from error
    except ssl.SSLCertVerificationError as error:  # a ValueError too, so it comes first
        raise refused_certificate(error) from error
    except UNREADABLE:
        raise unreadable_dsn() from None
    except (asyncpg.PostgresError, OSError, TimeoutError) as error:
        raise Unavailable(
            f"Postgres does not answer at {describe_dsn(dsn)}: {str(error) or type(error).__name__}",
            hint="check WATCHLINE_POSTGRES_DSN; `watchline dev` starts a local Postgres",
        ) from error
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def tables(dsn: str, *, rights: str, lost: str | None = None) -> AsyncIterator[asyncpg.Connection[Any]]:
    """A connection to our tables; Misconfigured or Unavailable says what is wrong with them, then or later.

    `rights` says what the user must be allowed, `lost` what becomes of a command whose connection breaks.
    """
    async with postgres(dsn) as connection:
        try:
            yield connection
        except OLD_SCHEMA as error:
            raise Misconfigured(
                f"the schema of {describe_dsn(dsn)} is older than this version: {error}", hint="run `watchline migrate`"
            ) from error
        except (asyncpg.InsufficientPrivilegeError, asyncpg.ReadOnlySQLTransactionError) as error:
            raise Misconfigured(
                f"Postgres at {describe_dsn(dsn)} refuses: {error}",
                hint=f"the user in WATCHLINE_POSTGRES_DSN must {rights}",
            ) from error
        except asyncpg.QueryCanceledError as error:
            raise Unavailable(
                f"Postgres at {describe_dsn(dsn)} gave up: {error}",
                hint="ask for less, or give the user in WATCHLINE_POSTGRES_DSN a longer statement_timeout",
            ) from error
        except AWAY as error:
            raise Unavailable(
                f"Postgres at {describe_dsn(dsn)} stopped answering: {str(error) or type(error).__name__}", hint=lost
            ) from error


async def check_kafka(kafka: KafkaConnection) -> None:
    """Return when Kafka answers; see `kafka_admin` for the errors."""
    async with kafka_admin(kafka):
        return


async def check_topics_exist(kafka: KafkaConnection, topics: Topics) -> None:
    """Misconfigured when one of ours is missing: a client would create it, with the broker's idea of partitions."""
    async with kafka_admin(kafka) as admin:
        existing = set(await admin.list_topics())
    missing = [name for name in (*topics.sources, *topics.outputs) if name not in existing]
    if missing:
        raise Misconfigured(f"topics are missing: {', '.join(missing)}", hint="run `watchline topics create`")


async def check_postgres(dsn: str) -> None:
    """Return when Postgres lets us in; see `postgres` for the errors."""
    async with postgres(dsn):
        return


def describe_dsn(dsn: str) -> str:
    """Where a DSN leads, without user or password.

    A "/", "?" or "#" in the password ends the address early, and what follows is a piece of the password: nothing is
    shown then, nor of what is no URL.
    """
    parts = urlsplit(dsn)
    if "@" in parts.path + parts.query + parts.fragment or parts.scheme not in ("postgresql", "postgres"):
        return "the address in WATCHLINE_POSTGRES_DSN"
    query = parse_qs(parts.query)
    host = parts.netloc.rpartition("@")[2] or ",".join(query.get("host", ["localhost"]))
    return f"{host}/{parts.path.lstrip('/')}"
