"""What a rule of retention consists of, and what several of them share; `plan` has them all, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CHUNK = 50  # pipelines at a time


@dataclass(frozen=True, slots=True)
class Walk:
    """Goes through the rows that lead to old ones, in order, so that what is kept is looked at once and not again.

    `step` takes the cursor (the first columns of the last row, at first `start`), how many rows to give and, when it is
    `dated`, the cutoffs of its rule.
    """

    step: str
    start: tuple[Any, ...]
    size: int = CHUNK
    dated: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """Which rows of a table go.

    `chosen` gives the keys of a batch. Its parameters are the columns of the walk as arrays, the `cutoffs` of the named
    tables, and how many; its placeholders are `{childless}` and `{locked}`. When it is only counted, both are empty:
    so the condition may not depend on what other rules have deleted before. `deleted` says what goes with the keys (by
    column, as arrays), by table, children first.
    """

    table: str
    cutoffs: tuple[str, ...]
    chosen: str
    deleted: tuple[tuple[str, str], ...]
    walk: Walk | None = None
    childless: str = ""  # its children really are gone
    locked: str = ""  # what somebody else holds is left alone

    def choice(self, *, real: bool) -> str:
        """The statement that gives the keys."""
        return self.chosen.format(childless=self.childless if real else "", locked=self.locked if real else "")


# The name is unique and never empty.
PIPELINES = Walk("select pipeline from pipelines where pipeline > $1 order by pipeline limit $2", ("",))
# Runs that open incidents speak of, or have spoken of.
NAMED = """
named as materialized (
    select i.run_id from incidents i where i.status = 'open' and i.run_id is not null
    union
    select (e.record ->> 'run_id')::uuid from incidents i join incident_events e using (incident_id)
    where i.status = 'open' and e.record ->> 'run_id' is not null)
"""
