"""Giving dead letters up: they stay, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import asyncpg

DISCARD = """
update public.dead_letters
set status = 'discarded', discarded_at = $2, discarded_by = $3, discard_reason = $4
where dead_letter_id = any($1::bigint[]) and status = 'open' returning dead_letter_id
"""


async def discard_letters(
    connection: asyncpg.Connection[Any], ids: Sequence[int], *, at: datetime, by: str, because: str
) -> list[int]:
    """Those of `ids` that were open and are discarded now."""
    rows = await connection.fetch(DISCARD, ids, at, by, because)
    return sorted(row["dead_letter_id"] for row in rows)
