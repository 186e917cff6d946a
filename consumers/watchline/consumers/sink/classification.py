"""What to do about an error of the database: wait, look for the bad record, or stop."""

from __future__ import annotations

from enum import Enum

import asyncpg

from watchline.schemas.errors import Misconfigured, Unavailable


class Decision(Enum):
    """What the sink does next with a batch that could not be stored."""

    RETRY = "retry"  # infrastructure: the same batch again, without end
    BISECT = "bisect"  # data: find the one record, dead-letter it, store the rest
    STOP = "stop"  # schema, permission or the unknown: going on would dead-letter everything


RETRIED = ("08", "40", "53", "57", "55P03", "25P03")
BISECTED = ("22", "23", "54")
# An error below these is a lost or unusable connection, whatever its text says.
INFRASTRUCTURE = (
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    Unavailable,
)
UNENCODABLE = (UnicodeEncodeError, OverflowError)


def classify(error: BaseException) -> Decision:
    """The decision for `error`; SQLSTATE first, the client's own errors by their class."""
    if isinstance(error, asyncpg.PostgresError):
        return _classify_state(error.sqlstate or "")
    if isinstance(error, Misconfigured | asyncpg.exceptions.ClientConfigurationError):
        return Decision.STOP
    if isinstance(error, UNENCODABLE) or _is_client_data_error(error):
        return Decision.BISECT
    if isinstance(error, INFRASTRUCTURE):
        return Decision.RETRY
    return Decision.STOP


def sqlstate_of(error: BaseException) -> str | None:
    """The five letters that Postgres gave, or None when it was the client that refused."""
    return error.sqlstate if isinstance(error, asyncpg.PostgresError) else None


def _classify_state(state: str) -> Decision:
    if state.startswith(RETRIED):
        return Decision.RETRY
    if state.startswith(BISECTED):
        return Decision.BISECT
    return Decision.STOP


def _is_client_data_error(error: BaseException) -> bool:
    # asyncpg's own DataError hides behind the server's of the same name; it is both of these.
    return isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError)
