"""What is said of a Postgres that answers, and does not do what it is asked."""

from __future__ import annotations

import pytest

from watchline.cli.reach import tables
from watchline.schemas.errors import Misconfigured, Unavailable


async def do(database: str, *statements: str, rights: str = "") -> None:
    async with tables(database, rights=rights) as connection:
        for statement in statements:
            await connection.execute(statement)


async def test_a_statement_that_took_too_long_is_not_taken_for_a_server_that_is_away(database: str) -> None:
    with pytest.raises(Unavailable, match="gave up: canceling statement due to statement timeout") as caught:
        await do(database, "set statement_timeout = 20", "select pg_sleep(60)")

    assert "longer statement_timeout" in str(caught.value.hint)


async def test_a_login_that_only_reads_is_told_what_it_must_be_allowed(database: str) -> None:
    with pytest.raises(Misconfigured, match="read-only transaction") as caught:
        await do(
            database, "set default_transaction_read_only = on", "delete from runs", rights="be in watchline_writer"
        )

    assert "be in watchline_writer" in str(caught.value.hint)
