"""Command lines called in this process, and what they are about put into Postgres as the sink does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import asyncpg
import pytest

from letters.letters import Result
from sinking.records import NOON
from watchline.cli.main import run
from watchline.consumers.sink.findings import store_anomalies
from watchline.consumers.sink.incidents import store_incidents
from watchline.consumers.sink.pipelines import store_seen
from watchline.schemas.records import AnomalyRecord, IncidentRecord

Call = Callable[..., Result]
Store = Callable[..., None]


def call_here(capsys: pytest.CaptureFixture[str], *arguments: str) -> Result:
    """Run a command line in this process; what was printed before it is not its own."""
    capsys.readouterr()
    code = run(list(arguments))
    printed = capsys.readouterr()
    return Result(code, printed.out, printed.err)


async def put(dsn: str, *records: IncidentRecord | AnomalyRecord) -> None:
    """Store incidents and anomalies, and that their pipelines were heard of."""
    connection = await asyncpg.connect(dsn)
    try:
        await store_seen(connection, {one.pipeline for one in records})
        incidents = [one for one in records if isinstance(one, IncidentRecord)]
        await store_incidents(connection, incidents, now=NOON, alert_max_age=timedelta(days=1))
        await store_anomalies(connection, [one for one in records if isinstance(one, AnomalyRecord)])
    finally:
        await connection.close()
