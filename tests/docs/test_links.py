"""Every link between the documents leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from brokers.apache import REPOSITORY
from docs.blocks import documents, name_of, prose_of

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
DECISIONS = REPOSITORY / "docs" / "adr"


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", prose_of(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    links = [link for link in LINK.findall(prose_of(document.read_text())) if "://" not in link]

    for link in links:
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{name_of(document)}: {link}"
        assert not anchor or anchor in anchors_of(target.read_text()), f"{name_of(document)}: {link}"


def test_the_index_of_decisions_names_each_with_its_title() -> None:
    pages = sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")
    titles = [(path.name, path.read_text().splitlines()[0].removeprefix("# ").split(" ", 1)) for path in pages]

    listed = re.findall(r"^\| \[(\d{4})\]\((.+)\) \| (.+) \|$", (DECISIONS / "README.md").read_text(), re.MULTILINE)

    assert listed == [(number, name, title) for name, (number, title) in titles]


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached = {REPOSITORY / "README.md"}
    waiting = list(reached)
    while waiting:
        document = waiting.pop()
        links = LINK.findall(document.read_text()) if document.suffix == ".md" else []
        found = {(document.parent / link.partition("#")[0]).resolve() for link in links if "://" not in link}
        waiting += found - reached
        reached |= found

    assert set(documents()) - reached <= {REPOSITORY / "CHANGELOG.md"}
