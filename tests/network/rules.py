"""The rights that docs/production.md lists, as rules for a broker."""

from __future__ import annotations

import re
from collections.abc import Iterator

from brokers.apache import REPOSITORY
from brokers.secured import OPERATIONS, Rule
from watchline.schemas import Topics

DOCUMENT = REPOSITORY / "docs" / "production.md"
ROW = re.compile(r"^\| (\w+) \| (topic|group|cluster)s? ?(.*?) \| (.+) \|$", re.MULTILINE)


def rules_of(topics: Topics) -> list[Rule]:
    """A rule for every name and operation of the table, under the prefix of `topics`."""
    return [rule for row in ROW.findall(DOCUMENT.read_text()) for rule in _rules(topics, *row)]


def _rules(topics: Topics, user: str, resource: str, names: str, operations: str) -> Iterator[Rule]:
    for name in re.findall(r"`(.+?)`", names) or ["kafka-cluster"]:
        literal = name.removesuffix("*").replace("watchline", topics.prefix, 1)
        for word in operations.split(", "):
            assert word.lower() in OPERATIONS, f"{word} is no operation of Kafka"
            yield Rule(user, word.lower(), resource, literal, "prefixed" if name.endswith("*") else "literal")
