"""Dead letters as Postgres holds them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from watchline.cli.reach import tables

REDRIVEN_HEADER = "watchline.redriven"
NEWEST = 1_000_000_000  # more than any table holds

# Every condition that is null lets all through. A reason covers what follows it after a colon.
SELECTED = """
with selected as (
    select * from public.dead_letters
    where status = any($1::text[])
        and ($2::text is null or reason = $2 or starts_with(reason, $2 || ':'))
        and ($3::text is null or source_topic = $3)
        and ($4::bytea is null or key = $4)
        and ($5::timestamptz is null or failed_at >= $5)
        and ($6::bigint[] is null or dead_letter_id = any($6)))
"""
SUMMARIES = """
select dead_letter_id, status, reason, left(detail, 2000) as detail, sqlstate, source_topic, source_partition,
    source_offset, log_epoch, source_timestamp, failed_at, substring(key from 1 for 1000) as key,
    octet_length(value) as value_bytes, redriven_at, redriven_count, redriven_by,
    discarded_at, discarded_by, discard_reason
from selected order by dead_letter_id desc limit $7
"""
COUNTS = "select reason, count(*) as letters from selected group by reason order by letters desc, reason"
LETTER = "select *, octet_length(value) as value_bytes from public.dead_letters where dead_letter_id = $1"
RETURNED = """
select dead_letter_id from public.dead_letters
where dead_letter_id > $1 and headers @> $2::text::jsonb order by dead_letter_id
"""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which letters are meant; None means all."""

    statuses: tuple[str, ...]
    reason: str | None = None
    topic: str | None = None
    key: bytes | None = None
    since: datetime | None = None
    ids: tuple[int, ...] | None = None

    def parameters(self) -> tuple[Any, ...]:
        return (self.statuses, self.reason, self.topic, self.key, self.since, self.ids)


@dataclass(frozen=True, slots=True)
class Summary:
    """A letter without its bytes; of a long key, its beginning."""

    dead_letter_id: int
    status: str
    reason: str
    detail: str
    sqlstate: str | None
    source_topic: str
    source_partition: int
    source_offset: int
    log_epoch: int
    source_timestamp: datetime | None
    failed_at: datetime
    key: bytes | None
    value_bytes: int | None  # None for a Kafka null
    redriven_at: datetime | None
    redriven_count: int
    redriven_by: str | None
    discarded_at: datetime | None
    discarded_by: str | None
    discard_reason: str | None

    @property
    def place(self) -> str:
        return f"{self.source_topic}/{self.source_partition}@{self.source_offset}"


@dataclass(frozen=True, slots=True)
class Letter(Summary):
    """A letter with everything that is known of it."""

    stored_at: datetime
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def redriven_from(self) -> int | None:
        """The letter that this record was when it was sent again last; it is what the header says."""
        raw = next((value for name, value in reversed(self.headers) if name == REDRIVEN_HEADER), None)
        return int(raw) if raw is not None and raw.isdigit() and len(raw) < 20 else None


def open_letters(dsn: str) -> AbstractAsyncContextManager[asyncpg.Connection[Any]]:
    """A connection to the letters; see `tables` for the errors."""
    return tables(
        dsn,
        rights="read dead_letters, and update it to redrive or discard",
        lost="letters whose outcome was not stored are still open; the same command takes them up again",
    )


async def find(connection: asyncpg.Connection[Any], wanted: Filter, *, limit: int = NEWEST) -> list[Summary]:
    """The letters that `wanted` lets through, newest first."""
    rows = await connection.fetch(SELECTED + SUMMARIES, *wanted.parameters(), limit)
    return [Summary(**dict(row)) for row in rows]


async def count(connection: asyncpg.Connection[Any], wanted: Filter) -> dict[str, int]:
    """How many letters each reason has, the largest number first."""
    rows = await connection.fetch(SELECTED + COUNTS, *wanted.parameters())
    return {row["reason"]: row["letters"] for row in rows}


async def read(connection: asyncpg.Connection[Any], letter_id: int, *, lock: bool = False) -> Letter | None:
    """One letter with its bytes; `lock` keeps others from deciding about it until the transaction ends."""
    row = await connection.fetchrow(LETTER + (" for update" if lock else ""), letter_id)
    return None if row is None else letter_of(dict(row))


async def returned(connection: asyncpg.Connection[Any], letter_id: int) -> Sequence[int]:
    """The letters that were refused after `letter_id` had been sent again."""
    header = [[REDRIVEN_HEADER, base64.b64encode(str(letter_id).encode()).decode()]]
    return [row["dead_letter_id"] for row in await connection.fetch(RETURNED, letter_id, json.dumps(header))]


def letter_of(row: dict[str, Any]) -> Letter:
    headers = json.loads(row.pop("headers"))
    return Letter(**row, headers=tuple((name, decoded(text)) for name, text in headers))


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
