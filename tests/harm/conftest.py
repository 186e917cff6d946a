"""Fixtures for what happens to a job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harm.lives import Life, live

Bare = Callable[[str], Life]
_lived: dict[str, Life] = {}


@pytest.fixture
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """The life of a job without the SDK; the world changes nothing in it, so once is enough."""

    def once(job: str) -> Life:
        if job not in _lived:
            _lived[job] = live(job, tmp_path_factory.mktemp("bare") / job, None)
        return _lived[job]

    return once


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    """Where the events go that Kafka does not take."""
    return tmp_path / "outbox"
