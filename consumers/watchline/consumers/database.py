"""Opening a Postgres connection, with errors that say what to do, and reading what asyncpg answers."""

from __future__ import annotations

import ssl
from typing import Any, TypeAlias

import asyncpg

from watchline.schemas.errors import Misconfigured, Unavailable

# A connection of one's own, or one lent by a pool; in words, for at run time neither is generic.
Session: TypeAlias = "asyncpg.Connection[Any] | asyncpg.pool.PoolConnectionProxy[Any]"

CONNECT_SECONDS = 10.0
WRONG = (
    asyncpg.InvalidAuthorizationSpecificationError,  # and InvalidPasswordError below it
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.exceptions.ClientConfigurationError,
)
UNREADABLE = (ValueError, OverflowError)  # the latter for a port beyond 65535
AWAY = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


async def connect(dsn: str, *, application: str, **settings: Any) -> asyncpg.Connection:
    """One connection to `dsn`.

    Misconfigured when waiting won't help, else Unavailable; neither shows the password.
    """
    try:
        return await asyncpg.connect(
            dsn,
            timeout=CONNECT_SECONDS,
            server_settings={"application_name": application, "search_path": "public"},
            **settings,
        )
    except WRONG as error:
        raise Misconfigured(f"Postgres refuses the connection: {error}", hint="check WATCHLINE_POSTGRES_DSN") from error
    except ssl.SSLCertVerificationError as error:  # a ValueError too, so it comes first
        raise refused_certificate(error) from error
    except UNREADABLE:
        raise unreadable_dsn() from None
    except AWAY as error:
        raise Unavailable(
            f"Postgres does not answer: {error or type(error).__name__}",
            hint="is it running at the address in WATCHLINE_POSTGRES_DSN?",
        ) from error


def refused_certificate(error: ssl.SSLCertVerificationError) -> Misconfigured:
    """What to say of a server whose certificate is of another authority or name."""
    return Misconfigured(
        f"the certificate of Postgres is refused: {error.verify_message}",
        hint="check sslrootcert and the host name in WATCHLINE_POSTGRES_DSN",
    )


def unreadable_dsn() -> Misconfigured:
    """What to say of a URL that can't be read, without the error's own text.

    That holds a piece of the URL: of the password, when there is a "/", "?" or "#" in it.
    """
    return Misconfigured(
        "WATCHLINE_POSTGRES_DSN can't be used: it is no URL",
        hint="write it as postgresql://user:password@host:5432/database, with %23 for # and so on in the password",
    )


def rows_of(tag: str) -> int:
    """How many rows a statement touched, by its command tag: the number in `DELETE 3` or `INSERT 0 3`."""
    return int(tag.rpartition(" ")[2])
