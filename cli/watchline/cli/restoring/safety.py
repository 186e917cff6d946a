"""What speaks against making the state anew: a worker that runs, rows that are newer, a sink that is behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import asyncpg

from watchline.cli.lag import end_offsets, lag, stored_offsets
from watchline.cli.restoring.changelog import Held, count_members
from watchline.cli.restoring.remains import Remains
from watchline.cli.restoring.stored import HIGHEST_EPOCH, READ_OF_LOG
from watchline.schemas.errors import Misconfigured, WatchlineError
from watchline.schemas.printing import printable
from watchline.schemas.records import EPOCH_SHIFT
from watchline.schemas.topics import Topics
from watchline.streams.settings import StreamsSettings
from watchline.streams.topics import check_topics

SHOWN = 3
FORCE = "--force goes on all the same, and replaces newer rows"


class Doubt(NamedTuple):
    """What speaks against it unless somebody insists, and what would do away with it."""

    text: str
    hint: str | None = None


async def check_places(settings: StreamsSettings) -> None:
    """Misconfigured when the topics are not as a worker needs them."""
    if problems := await check_topics(settings.kafka, settings.topics, partitions=settings.partitions):
        raise Misconfigured("; ".join(problems), hint="watchline topics create makes what is missing")


async def check_epoch(connection: asyncpg.Connection[Any], settings: StreamsSettings, remains: Remains) -> None:
    """Misconfigured when Postgres has read another log than the one of this epoch."""
    highest = await connection.fetchval(HIGHEST_EPOCH)
    if highest is not None and highest > settings.log_epoch:
        raise Misconfigured(
            f"Postgres has rows of log epoch {highest} and WATCHLINE_LOG_EPOCH is {settings.log_epoch}",
            hint="set WATCHLINE_LOG_EPOCH as it is, or will be, for the workers and the sink",
        )
    for row in await connection.fetch(READ_OF_LOG, settings.log_epoch):
        read, end = row["revision"] & ((1 << EPOCH_SHIFT) - 1), remains.ends.get(row["partition"], 0)
        if read > end:
            raise Misconfigured(
                f"partition {row['partition']} of {settings.topics.runs} ends at {end}, and Postgres has read it up to "
                f"{read}: it is another log",
                hint="raise WATCHLINE_LOG_EPOCH by one for this command, the workers and the sink",
            )


async def count_workers(settings: StreamsSettings) -> str | None:
    """Why nothing may be written now: workers are running."""
    members = await count_members(settings.kafka, settings.topics)
    return f"{members} workers of {settings.topics.application} are running" if members else None


async def count_unstored(connection: asyncpg.Connection[Any], settings: StreamsSettings) -> Doubt | None:
    """Why Postgres may not know all that was judged: the sink is behind."""
    topics: Topics = settings.topics
    ends = await end_offsets(settings.kafka, topics.outputs)
    behind = lag(ends, await stored_offsets(connection, settings.log_epoch))
    if not behind:
        return None
    return Doubt(f"the sink has not stored {behind:,} records yet", "let the sink run until it has stored them")


def find_newer(held: Held, remains: Remains) -> Doubt | None:
    """Why rows would be lost: a worker has gone on with them."""
    newer = held.newer_than(remains.begins)
    if not newer:
        return None
    names = ", ".join(printable(key.decode(errors="replace"), 60) for key in sorted(newer)[:SHOWN])
    more = f" and {len(newer) - SHOWN:,} more" if len(newer) > SHOWN else ""
    return Doubt(f"the changelog has newer rows of {names}{more}")


def refuse(running: str | None, doubts: Sequence[Doubt], *, force: bool) -> None:
    """WatchlineError when it is not safe; no force helps against a worker that runs."""
    if running:
        raise WatchlineError(f"{running}: nothing was written", hint="stop them all, and call this command again")
    if doubts and not force:
        hints = [*(doubt.hint for doubt in doubts if doubt.hint), FORCE]
        texts = "; ".join(doubt.text for doubt in doubts)
        raise WatchlineError(f"{texts}: nothing was written", hint="; ".join(hints))
