"""How long to wait before something that failed is tried again."""

from __future__ import annotations


def backoff(failures: int, chance: float, *, first: float = 1.0, longest: float) -> float:
    """Seconds after `failures` failures: doubled from `first` up to `longest`, up to half taken off by `chance`.

    `chance` in [0, 1) keeps those that failed together from coming back together.
    """
    full = min(longest, first * 2.0 ** min(max(failures - 1, 0), 30))  # a float holds no 2**1024
    return full * (0.5 + chance / 2)
