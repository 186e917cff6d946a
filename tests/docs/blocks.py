"""The documents of this repository and the fenced blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from brokers.apache import REPOSITORY

FENCE = re.compile(r"^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
SHELLS = frozenset({"bash", "sh", "shell", "console"})
COMMENT = re.compile(r"(^|\s+)#.*$")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: where it stands, as `docs/sdk.md` and a line, its language ("" for none) and its text."""

    document: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """The command lines of a shell block: comments dropped, continued lines joined."""
        joined = self.text.replace("\\\n", " ")
        lines = (COMMENT.sub("", line).removeprefix("$ ") for line in joined.splitlines())
        return [" ".join(line.split()) for line in lines if line.strip()]


def documents() -> list[Path]:
    """Every document that people read."""
    top = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [*top, *sorted((REPOSITORY / "docs").rglob("*.md"))]


def name_of(document: Path) -> str:
    return document.relative_to(REPOSITORY).as_posix()


def blocks_of(text: str, document: str) -> list[Block]:
    """The fenced blocks of a document."""
    return [
        Block(document, text.count("\n", 0, found.start()) + 1, found["language"], found["text"])
        for found in FENCE.finditer(text)
    ]


def read_blocks() -> list[Block]:
    """The fenced blocks of all documents."""
    return [block for path in documents() for block in blocks_of(path.read_text(), name_of(path))]


def prose_of(text: str) -> str:
    """The document without its fenced blocks, which are told apart by language."""
    return FENCE.sub("", text)


def block_with(document: str, first: str) -> Block:
    """The one block of `document` that begins with `first`."""
    (found,) = (block for block in read_blocks() if block.document == document and block.text.startswith(first))
    return found
