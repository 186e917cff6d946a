"""What must not become the last record of its key on a compacted topic: that one stays, the others go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import asyncpg

from watchline.cli.dead_letters.letters import Letter
from watchline.schemas import BadEvent, Event, PipelineDeclared, WatermarkAdvanced, decode
from watchline.schemas.topics import Topics, watermark_key

DECLARED = "select declared_at from public.pipelines where pipeline = $1"
ADVANCED = "select occurred_at from public.watermarks where pipeline = $1 and dataset = $2"


def is_compacted(topic: str, topics: Topics) -> bool:
    """Whether the topic keeps the last record of a key only."""
    return any(spec.name == topic and spec.config.get("cleanup.policy") == "compact" for spec in topics.specs())


async def why_not_last(
    connection: asyncpg.Connection[Any], letter: Letter, topics: Topics, *, now: datetime
) -> str | None:
    """Why the record would take the place of a better one, None when it may be sent.

    Rows merge by time, whatever the order; but a job reads its watermark from the topic, and a new streams worker its
    declarations.
    """
    if not is_compacted(letter.source_topic, topics):
        return None
    try:
        event = decode(letter.value, now=now)
    except BadEvent as bad:
        return f"is still bad ({bad.reason}) and would replace what {letter.source_topic} keeps of its key"
    dataset = event.dataset if isinstance(event, WatermarkAdvanced) else None
    if letter.key != watermark_key(event.pipeline, dataset):
        return f"has a key other than its pipeline and would replace what {letter.source_topic} keeps of that key"
    newest = await newest_of(connection, event)
    if newest is not None and newest > event.occurred_at:
        return f"is overtaken: {letter.source_topic} keeps a newer one of its pipeline, which it would replace"
    return None


async def newest_of(connection: asyncpg.Connection[Any], event: Event) -> datetime | None:
    """When the newest event of its kind that is stored for its pipeline occurred."""
    newest: datetime | None = None
    if isinstance(event, PipelineDeclared):
        newest = await connection.fetchval(DECLARED, event.pipeline)
    elif isinstance(event, WatermarkAdvanced):
        newest = await connection.fetchval(ADVANCED, event.pipeline, event.dataset or "")
    return newest
