from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from watchline.cli.demo import arrival as arrivals
from watchline.cli.demo.arrival import Arrival
from watchline.schemas.errors import Unavailable


async def test_what_does_not_move_is_given_up_with_its_numbers(
    connection: asyncpg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "PATIENCE_SECONDS", 0.5)
    arrival = Arrival(connection, ["orders"], lambda: None)

    with pytest.raises(Unavailable, match="ended runs stored: stuck at 0 of 3"):
        await arrival.until(arrival.ended, 3, "ended runs stored")


async def test_a_part_that_has_died_ends_the_waiting(connection: asyncpg.Connection[Any]) -> None:
    def check() -> None:
        raise Unavailable("the sink ended with code 1")

    arrival = Arrival(connection, ["orders"], check)

    with pytest.raises(Unavailable, match="the sink ended"):
        await arrival.until(arrival.ended, 3, "ended runs stored")


async def test_only_ended_runs_of_these_pipelines_have_arrived(connection: asyncpg.Connection[Any]) -> None:
    await connection.execute(
        """
        insert into runs (run_id, pipeline, status, revision) values
            (gen_random_uuid(), 'orders', 'succeeded', 1), (gen_random_uuid(), 'orders', 'running', 2),
            (gen_random_uuid(), 'other', 'failed', 3)
        """
    )

    assert await Arrival(connection, ["orders"], lambda: None).ended() == 1
