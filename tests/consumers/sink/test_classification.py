"""Which errors are waited out, which are blamed on a record, and which stop the sink."""

from __future__ import annotations

import asyncpg
import pytest

from watchline.consumers.sink.classification import Decision, classify
from watchline.schemas.errors import Misconfigured, Unavailable


def postgres(sqlstate: str) -> asyncpg.PostgresError:
    return asyncpg.PostgresError.new({"M": "as the server says", "C": sqlstate})


@pytest.mark.parametrize(
    "sqlstate",
    [
        "08000",
        "08003",
        "08006",
        "25P03",
        "40001",
        "40P01",
        "53100",
        "53300",
        "55P03",
        "57014",
        "57P01",
        "57P02",
        "57P03",
    ],
)
def test_infrastructure_is_retried(sqlstate: str) -> None:
    assert classify(postgres(sqlstate)) is Decision.RETRY


@pytest.mark.parametrize("sqlstate", ["22000", "22003", "22021", "22P02", "22P05", "23502", "23505", "23514", "54000"])
def test_data_is_bisected(sqlstate: str) -> None:
    assert classify(postgres(sqlstate)) is Decision.BISECT


@pytest.mark.parametrize(
    "sqlstate", ["42P01", "42703", "42501", "28000", "28P01", "3D000", "0A000", "21000", "55006", "XX000", "25006", ""]
)
def test_schema_permission_and_the_unknown_stop(sqlstate: str) -> None:
    assert classify(postgres(sqlstate)) is Decision.STOP


@pytest.mark.parametrize(
    "error",
    [
        OSError("no route"),
        ConnectionResetError(),
        TimeoutError(),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.InternalClientError("unexpected"),
        asyncpg.ConnectionDoesNotExistError("closed in the middle"),
        Unavailable("no database"),
    ],
)
def test_a_lost_connection_is_retried_whatever_its_class(error: Exception) -> None:
    assert classify(error) is Decision.RETRY


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.exceptions._base.DataError("invalid input for query argument"),
        OverflowError("value out of int64 range"),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    ],
)
def test_what_the_client_can_not_encode_is_bisected(error: Exception) -> None:
    assert classify(error) is Decision.BISECT


@pytest.mark.parametrize(
    "error",
    [
        KeyError("a bug"),
        TypeError("a bug"),
        Misconfigured("wrong password"),
        asyncpg.exceptions.ClientConfigurationError("a bad DSN"),
    ],
)
def test_a_bug_or_a_wrong_setting_stops(error: Exception) -> None:
    assert classify(error) is Decision.STOP
