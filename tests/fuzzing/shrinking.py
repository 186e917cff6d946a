"""The smallest input that still fails."""

from __future__ import annotations

from collections.abc import Callable

TRIES = 20_000
FINE = 16  # up to it every length is tried at every place: `"":0,` begins and ends anywhere


def shrink(raw: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """Cut pieces out of `raw`, large ones first, then make bytes plainer, as long as it `fails`."""
    tries = TRIES
    while tries > 0:
        before = raw
        size = max(1, len(raw) // 2)
        while size:
            at = 0
            while at < len(raw) and tries > 0:
                tries -= 1
                shorter = raw[:at] + raw[at + size :]
                if fails(shorter):
                    raw = shorter
                else:
                    at += size if size > FINE else 1
            size = size // 2 if size > FINE else size - 1
        if raw == before:
            break
    for at in range(min(len(raw), tries)):
        plainer = raw[:at] + b"0" + raw[at + 1 :]
        if raw[at : at + 1] != b"0" and fails(plainer):
            raw = plainer
    return raw
