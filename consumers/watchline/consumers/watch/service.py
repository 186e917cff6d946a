"""The watch over ingestion: it needs Postgres and nothing else, so that it works when all the rest does not."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import asyncpg
import structlog

from watchline.consumers import locks
from watchline.consumers.database import Session
from watchline.consumers.pause import pause
from watchline.consumers.sink.incidents import store_incidents
from watchline.consumers.watch.health import Cause, Health, Patience, agree, all_fresh, causes_of, judge
from watchline.consumers.watch.incident import FINGERPRINT, next_transition
from watchline.consumers.watch.observation import Observation, observe
from watchline.consumers.watch.settings import WatchSettings
from watchline.consumers.watch.vitals import Vitals, is_stuck
from watchline.schemas.records import IncidentRecord

EVER = timedelta(days=36_500)  # its cause is told however old: nobody else has told it
ACQUIRE_SECONDS = 10.0

OPEN = """
select e.record::text from incidents i join incident_events e using (incident_id, transition_no)
where i.fingerprint = $1 and i.status = 'open'
"""

log = structlog.get_logger(__name__)


async def keep_watch(
    pool: asyncpg.Pool[asyncpg.Record], settings: WatchSettings, vitals: Vitals, stop: asyncio.Event
) -> None:
    """Look at ingestion again and again until `stop`; what goes wrong here never disturbs the alerts."""
    health, failures = Health(), 0
    while not stop.is_set():
        try:
            async with pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
                health = await look(connection, health, settings, vitals)
            failures = 0
        except Exception as error:  # noqa: BLE001 - logged, the switch falls silent, and the next look may do better
            failures += 1
            log.warning("ingestion.unseen", error=type(error).__name__, detail=str(error)[:200], failures=failures)
        await pause(stop, settings.ingestion_look_seconds)


async def look(connection: Session, health: Health, settings: WatchSettings, vitals: Vitals) -> Health:
    """See what is there, judge it, say so in Postgres, and note when all of it works."""
    seen = await observe(connection)
    causes = causes_of(seen.readings, seen.hours, seen.now, settings.patience)
    health = await tell(connection, health, causes, seen, settings.patience)
    stuck = await is_stuck(connection, timedelta(seconds=settings.dead_man_stuck_seconds))
    works = all_fresh(seen.readings, seen.now, settings.patience) and not stuck
    vitals.ingested_at = time.monotonic() if works else None
    return health


async def tell(
    connection: Session, health: Health, causes: tuple[Cause, ...], seen: Observation, patience: Patience
) -> Health:
    """Bring the incident to the verdict, its rows and its alert in one transaction; several notifiers make one."""
    async with connection.transaction():
        await connection.execute("select pg_advisory_xact_lock($1)", locks.WATCH)
        record = await connection.fetchval(OPEN, FINGERPRINT)
        opened = None if record is None else IncidentRecord.model_validate_json(record)
        health = judge(agree(health, opened is not None), causes, seen.now, patience)
        transition = next_transition(opened, health, len(seen.readings), seen.now, uuid4())
        if transition is not None:
            stored = cast(asyncpg.Connection, connection)  # a pool lends proxies of them
            await store_incidents(stored, [transition], now=seen.now, alert_max_age=EVER)
            report(transition)
    return health


def report(transition: IncidentRecord) -> None:
    """Log what became of ingestion."""
    facts: dict[str, Any] = {"title": transition.title, "incident_id": str(transition.incident_id)}
    if transition.transition == "resolved":
        log.info("ingestion.recovered", **facts)
    else:
        log.error("ingestion.ill", change=transition.transition_no, severity=transition.severity, **facts)
