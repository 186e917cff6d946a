"""Commands on a terminal of their own, and called in this process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from deciding.calls import Call, call_here
from terminals.terminal import OpenTerminal, Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[OpenTerminal]:
    opened: list[Terminal] = []

    def open_terminal(*arguments: str, environment: dict[str, str] | None = None) -> Terminal:
        opened.append(Terminal(list(arguments), tmp_path, environment or {}))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


@pytest.fixture
def call(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command line in this process."""
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", database)
    monkeypatch.delenv("COLUMNS", raising=False)

    return partial(call_here, capsys)
