"""What the guide says of a job's fate names what shows it."""

from __future__ import annotations

import re
from pathlib import Path

from harm.lives import JOBS, TESTS

GUIDE = TESTS.parent / "docs" / "sdk.md"
HEADING = "## What can happen to a job"


def test_every_row_of_the_guide_names_a_job_or_a_test_and_every_job_stands_in_one() -> None:
    jobs = {path.stem for path in JOBS.glob("*.py")}

    named = names_in_table(GUIDE.read_text())

    assert named - jobs - functions() == set()
    assert jobs - named == {"plain"}  # it lives in every world


def names_in_table(text: str) -> set[str]:
    """The names in the last column of the table."""
    section = text.split(HEADING, 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    found = [re.findall(r"`(\w+)`", row.split(" | ")[-1]) for row in rows]
    assert rows
    assert all(found), rows
    return {name for names in found for name in names}


def functions() -> set[str]:
    """What the tests here and in `tests/sdk` call themselves, and the worlds."""
    sources: list[Path] = [*(TESTS / "harm").glob("*.py"), *(TESTS / "sdk").glob("*.py")]
    return {name for path in sources for name in re.findall(r"^def (\w+)\(", path.read_text(), re.MULTILINE)}
