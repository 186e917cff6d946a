"""Nothing is shown in a document that no test runs."""

from __future__ import annotations

import re

import pytest

from brokers.apache import REPOSITORY
from docs.blocks import Block, blocks_of, documents, name_of, read_blocks
from docs.register import DRAWING, SHOWN, entries_of, runner_of

BLOCKS = read_blocks()
COLUMNS = 100  # what GitHub shows without scrolling


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_every_line_of_a_block_is_run_by_a_test(block: Block) -> None:
    known = SHOWN.get(block.document, {})

    missing = [entry for entry in entries_of(block) if entry not in known]

    assert missing == [], f"{block.place}: no test runs this; name one in tests/docs/register.py"


def test_the_register_names_nothing_that_is_no_longer_shown() -> None:
    shown = {(block.document, entry) for block in BLOCKS for entry in entries_of(block)}

    assert {(document, entry) for document, entries in SHOWN.items() for entry in entries} == shown


def test_every_test_of_the_register_exists() -> None:
    named = {test for entries in SHOWN.values() for test in entries.values()} - {DRAWING}
    named |= {test for block in BLOCKS if (test := runner_of(block))}

    for test in named:
        path, name = test.split("::")
        assert re.search(rf"^(async )?def {name}\(", (REPOSITORY / path).read_text(), re.MULTILINE), test


def test_every_fence_belongs_to_a_block() -> None:
    for path in documents():
        text = path.read_text()
        fences = re.findall(r"^\s*```", text, re.MULTILINE)

        assert len(fences) == 2 * len(blocks_of(text, name_of(path))), path


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_a_block_is_read_without_scrolling(block: Block) -> None:
    long = [line for line in block.text.splitlines() if len(line) > COLUMNS]

    assert long == [], f"{block.place}: longer than {COLUMNS} columns"
