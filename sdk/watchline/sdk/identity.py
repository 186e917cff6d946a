"""Ids of runs and events: UUID version 7, so that they sort by time."""

from __future__ import annotations

import os
import time
from uuid import UUID


def make_id() -> UUID:
    """A new UUID version 7 (RFC 9562, section 5.7) of this instant."""
    return compose_id(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10), "big"))


def compose_id(unix_ms: int, noise: int) -> UUID:
    """The UUID version 7 of a time in milliseconds and 74 random bits."""
    high = (noise >> 62) & 0xFFF
    low = noise & ((1 << 62) - 1)
    return UUID(int=((unix_ms & ((1 << 48) - 1)) << 80) | (7 << 76) | (high << 64) | (2 << 62) | low)
