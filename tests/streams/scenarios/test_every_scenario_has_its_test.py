"""Each of the 25 scenarios stands in the record of decisions with a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

from brokers.apache import REPOSITORY

RECORD = REPOSITORY / "docs" / "adr" / "0009-scenarios.md"
ROW = re.compile(r"^\| (\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
PATH = re.compile(r"`([^`]+\.py)`")


def rows() -> dict[int, tuple[list[str], str]]:
    """The tests and the outcome of each scenario, by its number."""
    return {int(number): (PATH.findall(tests), outcome) for number, tests, outcome in ROW.findall(RECORD.read_text())}


def place_of(name: str) -> Path:
    """Where the file is that the table names."""
    if name.startswith("tests/"):
        return REPOSITORY / name
    return REPOSITORY / "tests" / ("consumers" if "/" in name else "streams/scenarios") / name


def test_all_are_listed_once_and_in_order() -> None:
    assert [int(number) for number, _, _ in ROW.findall(RECORD.read_text())] == list(range(1, 26))


def test_each_has_a_test_and_each_test_exists() -> None:
    missing = {
        number: tests
        for number, (tests, _) in rows().items()
        if not tests or not all(place_of(name).is_file() for name in tests)
    }

    assert missing == {}


def test_each_says_whether_it_ended_as_expected_or_was_changed() -> None:
    unclear = {
        number for number, (_, outcome) in rows().items() if not re.search(r"as expected|\*\*Changed\*\*", outcome)
    }

    assert unclear == set()


def test_every_test_of_a_scenario_here_is_listed_under_its_number() -> None:
    here = {
        path.name: int(path.name.split("_")[1])
        for path in (REPOSITORY / "tests" / "streams" / "scenarios").glob("test_[0-9]*.py")
    }

    listed = {path.split("/")[-1]: number for number, (tests, _) in rows().items() for path in tests}

    assert {name: listed.get(name) for name in here} == here
