from collections.abc import Iterator
from pathlib import Path

import pytest

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
