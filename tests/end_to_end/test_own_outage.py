"""Watchline notices its own outage on a real broker: one incident, absence held, and no sign of life meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest

from brokers.kinds import Broker
from ingesting.pulses import absent, outside, reach_row, sink
from slack.fake import FakeSlack
from stack.services import services
from watchline.schemas import Topics

HELD = "exists (select from alert_outbox where pipeline = 'late' and state = 'held')"
TOLD = "exists (select from alert_outbox where pipeline = 'late' and state = 'sent')"
OPEN = "exists (select from alert_outbox where kind = 'ingestion' and transition = 'opened' and state = 'sent')"
OVER = "exists (select from alert_outbox where kind = 'ingestion' and transition = 'resolved' and state = 'sent')"
SECONDS = 120.0


@pytest.mark.faults
@pytest.mark.parametrize("stopped", ["streams", "sink"])
async def test_a_stopped_part_is_one_incident_and_silence_outside_until_it_is_back(
    stopped: str, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    connection = await asyncpg.connect(database)
    async with FakeSlack() as slack, outside() as away:
        more = {
            "WATCHLINE_SLACK_WEBHOOK_URL": slack.url,
            "WATCHLINE_SLACK_ALLOW_INSECURE": "1",
            "WATCHLINE_GROUP_WAIT_SECONDS": "0",
            "WATCHLINE_GROUP_INTERVAL_SECONDS": "0",
            "WATCHLINE_INGESTION_LOOK_SECONDS": "0.5",
            "WATCHLINE_INGESTION_SILENT_SECONDS": "45",
            "WATCHLINE_INGESTION_ILL_SECONDS": "1",
            "WATCHLINE_INGESTION_SETTLE_SECONDS": "5",
            "WATCHLINE_DEAD_MAN_URL": away.url,
            "WATCHLINE_DEAD_MAN_ALLOW_INSECURE": "1",
            "WATCHLINE_DEAD_MAN_SECONDS": "0.5",
        }
        with services(tmp_path, broker.bootstrap_servers, database, topics, more) as running:
            parts = {part: running.start(part) for part in ("sink", "notify", "streams")}
            await away.wait_for_more(3, seconds=SECONDS)

            parts[stopped].stop(seconds=15)
            await reach_row(connection, OPEN, seconds=SECONDS)
            quiet = await away.is_quiet_for(3)
            now = datetime.now(UTC)
            await sink(connection, absent("late", at=now, opened_at=now, cause_at=now))
            await reach_row(connection, HELD, seconds=SECONDS)

            running.start(stopped)
            await reach_row(connection, OVER, seconds=SECONDS)
            await reach_row(connection, TOLD, seconds=SECONDS)
            await away.wait_for_more(3, seconds=SECONDS)

    assert quiet
    assert await connection.fetchval("select count(*) from incidents where kind = 'ingestion'") == 1
    first, *_ = [request.text for request in slack.requests]
    assert first.startswith("🔴 watchline: nothing arrives from all 4 partitions since ")
    heard = [request.text for request in slack.requests]
    ends = [number for number, text in enumerate(heard) if "watchline: ingestion gap" in text]
    absences = [number for number, text in enumerate(heard) if "late: freshness" in text]
    assert len(ends) == len(absences) == 1
    await connection.close()
