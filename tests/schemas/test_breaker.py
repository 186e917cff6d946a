"""The breaker: more than a share of the last records of a topic are bad."""

from __future__ import annotations

import random

import pytest

from watchline.schemas.breaker import Breaker

BAD, GOOD = "invalid_json", None


def feed(breaker: Breaker, outcomes: list[str | None], *, batch: int = 1) -> int | None:
    """How many records had been noted when the breaker said stop, in batches of that size."""
    for at in range(0, len(outcomes), batch):
        part = outcomes[at : at + batch]
        if breaker.note(len(part), [(place, reason) for place, reason in enumerate(part) if reason]):
            return at + len(part)
    return None


def open_breaker(window: int = 1000, share: float = 0.5) -> Breaker:
    return Breaker("watchline.runs", window=window, share=share)


def test_half_of_the_window_may_be_bad_and_one_more_may_not() -> None:
    assert feed(open_breaker(), [BAD, GOOD] * 5000) is None
    assert feed(open_breaker(), [BAD, GOOD] * 5000 + [BAD]) is None
    assert feed(open_breaker(), [BAD, GOOD] * 5000 + [BAD, BAD]) == 10_002


def test_a_few_bad_records_at_the_start_stop_nobody() -> None:
    assert feed(open_breaker(), [BAD] * 500) is None
    assert feed(open_breaker(), [BAD] * 501) == 501


def test_what_has_left_the_window_is_forgotten() -> None:
    assert feed(open_breaker(), ([BAD] * 500 + [GOOD] * 500) * 10) is None
    assert feed(open_breaker(), ([BAD] * 500 + [GOOD] * 499) * 10) == 1000


def test_a_flood_counts_even_if_its_batch_ends_better() -> None:
    assert feed(open_breaker(), [BAD] * 501 + [GOOD] * 1499, batch=2000) == 2000


def test_a_share_of_one_never_stops() -> None:
    assert feed(open_breaker(share=1.0), [BAD] * 5000, batch=700) is None


@pytest.mark.parametrize("batch", [1, 7, 100, 333])
def test_how_records_fall_into_batches_does_not_matter(batch: int) -> None:
    dice = random.Random(batch)
    outcomes = [BAD if dice.random() < 0.5 else GOOD for _ in range(20_000)]
    plain = next(
        (n for n in range(1, len(outcomes) + 1) if sum(map(bool, outcomes[max(0, n - 50) : n])) > 30), len(outcomes)
    )

    stopped = feed(open_breaker(window=50, share=0.6), outcomes, batch=batch)

    assert stopped == min(-(-plain // batch) * batch, len(outcomes))


def test_the_error_names_topic_share_reasons_and_what_to_do() -> None:
    flood = open_breaker(window=4).note(4, [(0, "a"), (1, "b"), (2, "a")])

    assert flood is not None
    error = flood.error()
    assert str(error) == "3 of the last 4 records of watchline.runs are bad: a 2, b 1"
    assert "dead-letters list" in (error.hint or "")
    assert "WATCHLINE_BREAKER_SHARE=1" in (error.hint or "")
