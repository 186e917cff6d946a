"""How long to wait before the next try."""

from __future__ import annotations

from watchline.consumers.backoff import backoff


def test_the_wait_doubles_up_to_its_limit_however_often_it_fails() -> None:
    assert [backoff(failures, 1.0, longest=300) for failures in (1, 2, 3, 9, 10, 10_000)] == [1, 2, 4, 256, 300, 300]
    assert [backoff(failures, 1.0, first=0.1, longest=1) for failures in range(1, 6)] == [0.1, 0.2, 0.4, 0.8, 1.0]


def test_chance_takes_up_to_half_of_the_wait_off() -> None:
    assert backoff(3, 0.0, longest=300) == 2
    assert backoff(3, 0.5, longest=300) == 3
    assert backoff(10_000, 0.0, first=0.1, longest=1) == 0.5
