"""Rebuilding in the process of a test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from letters.letters import Result
from watchline.consumers.rebuild import Outcome, Wanted, rebuild
from watchline.consumers.rebuild.checksums import HEARD, Checksum, checksum
from watchline.consumers.rebuild.tables import FOLDED, UNTOUCHED
from watchline.consumers.sink.settings import SinkSettings

ASKED = {
    "runs": {"orphaned"},
    "incidents": {"open_seconds"},
    "ingestion": {"behind_seconds"},
    "pipelines": {"data_age_seconds", "watermark_lag_seconds", "next_due_at"},
    "sla": {"fresh_share", "stale_seconds"},
}
VIEWS = "select relname from pg_class where relnamespace = 'reporting'::regnamespace order by 1"


Call = Callable[..., Awaitable[Result]]  # the command in this process


@dataclass
class Heard:
    """What a rebuild said on its way."""

    stages: list[str] = field(default_factory=list)
    records: int = 0

    def stage(self, title: str, total: int | None = None) -> None:
        self.stages.append(title)

    def folded(self, records: int) -> None:
        self.records += records


async def call(settings: SinkSettings, *, heard: Heard | None = None, **wanted: bool) -> Outcome:
    """Rebuild over a connection of its own."""
    connection = await asyncpg.connect(settings.postgres_dsn.get_secret_value())
    try:
        return await rebuild(connection, settings, Wanted(**wanted), heard or Heard())
    finally:
        await connection.close()


async def checksums(connection: asyncpg.Connection) -> dict[str, Checksum]:
    """The checksum of each view, without what depends on the time of the question, or of hearing of something."""
    async with connection.transaction():
        return {
            name: await checksum(connection, name, without=HEARD.get(name, set()) | ASKED.get(name, set()))
            for (name,) in await connection.fetch(VIEWS)
        }


async def contents(connection: asyncpg.Connection, schema: str = "public") -> dict[str, list[Any]]:
    """Every row of every table, whole."""
    return {
        name: sorted(tuple(row) for row in await connection.fetch(f"select t::text from {schema}.{name} t"))
        for name in (*FOLDED, *UNTOUCHED)
        if name != "sink_offsets" and (schema == "public" or name in FOLDED)
    }
