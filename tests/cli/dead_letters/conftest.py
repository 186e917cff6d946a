"""`watchline dead-letters` on a database with letters in it."""

from __future__ import annotations

import pytest

from letters.letters import Commands, Store


@pytest.fixture
def store(database: str) -> Store:
    return Store(database)


@pytest.fixture
def call(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", database)
    monkeypatch.delenv("COLUMNS", raising=False)
    return Commands(monkeypatch, capsys)
