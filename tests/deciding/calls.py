"""Command lines called in this process, and what they are about put into Postgres as the sink does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import asyncpg

from letters.letters import Result
from sinking.records import NOON
from watchline.consumers.sink.findings import store_anomalies
from watchline.consumers.sink.incidents import store_incidents
from watchline.consumers.sink.pipelines import store_seen
from watchline.schemas.records import AnomalyRecord, IncidentRecord

Call = Callable[..., Result]
Store = Callable[..., None]


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
