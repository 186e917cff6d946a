"""Letters in a database, and `watchline dead-letters` about them."""

from __future__ import annotations

import asyncio
import base64
import io
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from sinking.records import letter
from stack.contents import rows
from watchline.cli.main import run
from watchline.consumers.sink.dead_letters import store_dead_letters
from watchline.schemas.records import DeadLetter


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Commands:
    """Runs `watchline dead-letters …` in this process."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, typed: str = "") -> Result:
        self.monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        self.capsys.readouterr()
        code = run(["dead-letters", *arguments])
        printed = self.capsys.readouterr()
        return Result(code, printed.out, printed.err)


@dataclass(frozen=True, slots=True)
class Store:
    """The letters of one database."""

    dsn: str

    async def put(self, *letters: DeadLetter, sqlstate: str | None = None) -> list[int]:
        """Store the letters as the sink does; their ids in order."""
        connection = await asyncpg.connect(self.dsn)
        try:
            for each in letters:
                await store_dead_letters(connection, [each], sqlstate=sqlstate)
        finally:
            await connection.close()
        return [row[0] for row in await self.select("dead_letter_id")][-len(letters) :]

    async def select(self, columns: str) -> list[tuple[Any, ...]]:
        return await rows(self.dsn, f"select {columns} from dead_letters order by dead_letter_id")

    def put_now(self, *letters: DeadLetter) -> list[int]:
        return asyncio.run(self.put(*letters))

    def select_now(self, columns: str) -> list[tuple[Any, ...]]:
        return asyncio.run(self.select(columns))


def of_bytes(
    offset: int = 7, *, value: bytes | None = b"{", key: bytes | None = b"orders", **changes: Any
) -> DeadLetter:
    """A letter with these bytes."""
    return letter(
        offset,
        value=None if value is None else base64.b64encode(value).decode(),
        key=None if key is None else base64.b64encode(key).decode(),
        **changes,
    )
