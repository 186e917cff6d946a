"""Inputs made from inputs: valid events and known bad ones, bent as JSON and as bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LONGEST = 6000  # bytes; what a length alone does is for the cases of the file, not for a million tries
LEARNED = 1500  # bytes; what comes of large ones is large, and slow
MAGIC = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xf0\x9f\x9a\x80", b"\xc0\x80", b"\\u0000",
    b"\\ud800", b"\\udc00", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"NaN", b"-Infinity", b"1e999",
    b"-0", b"1E+2", b"0x1", b"/*", b"\r\n", b"\xe2\x80\xa8",
)  # fmt: skip
TEXTS = (
    "", " ", "\x00", "\ud800", "\u202e", "a\u0301", "x" * 201, "x" * 3000, "=1+1", "<!channel>", "token=abc",
    "postgresql://u:p@h/d", "2026-11-30", "2026-11-30T11:59:00Z", "2026-11-30T11:59:00", "2026-11-30T11:59:00+14:00",
    "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2026-11-30T11:59:60Z", "1999-12-31T23:59:59Z",
    "2026-11-30t11:59:00.1234567z", "２０２６-11-30T11:59:00Z", "NaN", "9" * 400, "{", "Bearer x",
    "succeeded", "run.started", "run.ended",
    "pipeline.declared", "watermark.advanced", "feedback.given", "incident.snoozed", "pipeline.muted",
    "da67b2dd-f5d3-5cc1-97cd-b14dec5429e4",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 0.5, -0.0, 1e308, 5e-324, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30)
TOKENS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1E2", "1.0", "-0", "-0.0", "9" * 350, "0." + "1" * 350)
TOKEN = "\ue000token\ue000"  # stands in the text for a token that no Python value is written as


class Mutator:
    """Draws inputs; `learn` adds one that led somewhere new, so that others are made from it."""

    def __init__(self, seeds: Sequence[bytes], dice: Random) -> None:
        self._corpus, self._dice = list(seeds), dice
        self._byte_steps = (self._flip, self._cut, self._insert, self._repeat, self._splice)
        self._tree_steps = (self._replace, self._replace, self._drop, self._wrap, self._graft, self._rename)

    def learn(self, raw: bytes) -> None:
        """Make others from this one, too."""
        if len(raw) <= LEARNED:
            self._corpus.append(raw)

    def draw(self) -> bytes:
        """The next input."""
        raw = self._dice.choice(self._corpus)
        if self._dice.random() < 0.6 and (tree := parsed(raw)) is not None:
            raw = self._bend_tree(tree)
            if self._dice.random() < 0.8:
                return raw
        for _ in range(self._dice.choice((1, 1, 2, 4))):
            raw = self._dice.choice(self._byte_steps)(raw)
        return raw[:LONGEST]

    # JSON

    def _bend_tree(self, tree: Any) -> bytes:
        for _ in range(self._dice.choice((1, 1, 1, 2, 3, 5))):
            tree = self._dice.choice(self._tree_steps)(tree)
        return self._write(tree)[:LONGEST]

    def _write(self, tree: Any) -> bytes:
        dice = self._dice
        text = json.dumps(tree, ensure_ascii=dice.random() < 0.5)
        while TOKEN in text:
            text = text.replace(f'"{TOKEN}"', dice.choice(TOKENS), 1).replace(TOKEN, "?", 1)
        encoding = dice.choice(("utf-8",) * 12 + ("utf-8-sig", "utf-16", "latin-1"))
        return text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")

    def _value(self) -> Any:
        dice = self._dice
        kind = dice.randrange(8)
        if kind < 3:
            return dice.choice(TEXTS)
        if kind < 5:
            return dice.choice(NUMBERS)
        if kind == 5:
            return dice.choice((None, True, False, [], {}, TOKEN))
        if kind == 6:
            return [self._value() for _ in range(dice.randrange(4))]
        return {dice.choice(TEXTS): self._value() for _ in range(dice.randrange(4))}

    def _replace(self, tree: Any) -> Any:
        return self._at_random(tree, lambda _: self._value())

    def _wrap(self, tree: Any) -> Any:
        depth = self._dice.choice((1, 1, 2, 2, 5, 40, 100))

        def wrap(value: Any) -> Any:
            for _ in range(depth):
                value = [value] if self._dice.random() < 0.5 else {"a": value}
            return value

        return self._at_random(tree, wrap)

    def _graft(self, tree: Any) -> Any:
        """Fields of another input."""
        other = parsed(self._dice.choice(self._corpus))
        if isinstance(tree, dict) and isinstance(other, dict) and other:
            names = self._dice.sample(sorted(other), self._dice.randint(1, len(other)))
            return tree | {name: other[name] for name in names}
        return tree

    def _drop(self, tree: Any) -> Any:
        if isinstance(tree, dict) and tree:
            gone = self._dice.choice(sorted(tree))
            return {name: value for name, value in tree.items() if name != gone}
        return tree

    def _rename(self, tree: Any) -> Any:
        if isinstance(tree, dict) and tree:
            old, new = self._dice.choice(sorted(tree)), self._dice.choice(TEXTS)
            return {new if name == old else name: value for name, value in tree.items()}
        return tree

    def _at_random(self, tree: Any, change: Callable[[Any], Any]) -> Any:
        """The tree with one value changed, at any depth."""
        if isinstance(tree, dict) and tree and self._dice.random() < 0.95:
            name = self._dice.choice(sorted(tree))
            return tree | {name: self._deeper(tree[name], change)}
        if isinstance(tree, list) and tree and self._dice.random() < 0.9:
            at = self._dice.randrange(len(tree))
            return [*tree[:at], self._deeper(tree[at], change), *tree[at + 1 :]]
        return change(tree)

    def _deeper(self, value: Any, change: Callable[[Any], Any]) -> Any:
        return self._at_random(value, change) if self._dice.random() < 0.6 else change(value)

    # Bytes

    def _slice(self, raw: bytes, longest: int = 40) -> tuple[int, int]:
        start = self._dice.randint(0, len(raw))
        return start, min(len(raw), start + self._dice.randint(0, longest))

    def _flip(self, raw: bytes) -> bytes:
        if not raw:
            return b"\x00"
        at = self._dice.randrange(len(raw))
        return raw[:at] + bytes([raw[at] ^ (1 << self._dice.randrange(8))]) + raw[at + 1 :]

    def _cut(self, raw: bytes) -> bytes:
        start, end = self._slice(raw)
        return raw[:start] + raw[end:]

    def _insert(self, raw: bytes) -> bytes:
        start, _ = self._slice(raw)
        new = self._dice.choice(MAGIC) if self._dice.random() < 0.8 else self._dice.randbytes(self._dice.randint(1, 8))
        return raw[:start] + new + raw[start:]

    def _repeat(self, raw: bytes) -> bytes:
        start, end = self._slice(raw)
        return raw[:end] + raw[start:end] * self._dice.choice((1, 2, 50)) + raw[end:]

    def _splice(self, raw: bytes) -> bytes:
        other = self._dice.choice(self._corpus)
        return raw[: self._slice(raw)[0]] + other[self._slice(other)[0] :]


def parsed(raw: bytes) -> Any:
    """The JSON in `raw`, None when it is none that can be bent."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
