"""Writing `dead_letters`: the bytes as they came, whatever they are."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import Any

import asyncpg

from watchline.schemas.records import DeadLetter

INSERT = """
insert into dead_letters (reason, detail, sqlstate, source_topic, source_partition, source_offset, log_epoch,
    source_timestamp, key, value, headers, failed_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing
"""
LAST_MILLISECOND = 253_402_300_799_999  # of the year 9999


async def store_dead_letters(
    connection: asyncpg.Connection, letters: list[DeadLetter], *, sqlstate: str | None = None
) -> None:
    """Keep the letters; the same place of the same log is kept once."""
    ordered = sorted(letters, key=lambda one: (one.source_topic, one.source_partition, one.source_offset))
    if ordered:
        await connection.executemany(INSERT, [row_of(letter, sqlstate) for letter in ordered])


def row_of(letter: DeadLetter, sqlstate: str | None) -> tuple[Any, ...]:
    headers = [[clean(name), value] for name, value in letter.headers]
    return (
        clean(letter.reason),
        clean(letter.detail),
        sqlstate,
        clean(letter.source_topic),
        letter.source_partition,
        letter.source_offset,
        letter.log_epoch,
        timestamp(letter.source_timestamp_ms),
        decoded(letter.key),
        decoded(letter.value),
        json.dumps(headers, separators=(",", ":")),
        letter.failed_at,
    )


def decoded(text: str | None) -> bytes | None:
    """The bytes behind base64; text that is no base64 is kept as it is, since losing it helps nobody."""
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")


def timestamp(milliseconds: int | None) -> datetime | None:
    """The record's time in UTC; what no calendar holds (a producer may send anything) is unknown."""
    if milliseconds is None or not 0 <= milliseconds <= LAST_MILLISECOND:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def clean(text: str) -> str:
    """The text without what Postgres refuses: NUL and lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
