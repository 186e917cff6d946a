"""Which tables are pruned, in which order, and from when on each is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from watchline.consumers.retention import incident_rules, other_rules, run_rules
from watchline.consumers.retention.rules import Rule

RULES: tuple[Rule, ...] = (*run_rules.RULES, *incident_rules.RULES, *other_rules.RULES)
TABLES = tuple(dict.fromkeys(rule.table for rule in RULES))
COUNTED = {name: rule.table for rule in RULES for name, _ in reversed(rule.deleted)}  # whose days hold for each table
FIRST = {"incidents": ("incident_events", "alert_outbox")}  # whose rows go before


@dataclass(frozen=True, slots=True)
class Plan:
    """The tables to prune, in order, and all cutoffs; `now` is when the pass began."""

    now: datetime
    cutoffs: Mapping[str, datetime]
    tables: tuple[str, ...] = TABLES

    def rules(self, table: str) -> Iterable[Rule]:
        """The rules by which rows of a table go, in the order in which they are obeyed."""
        return (rule for rule in RULES if rule.table == table)


def chosen_tables(names: Iterable[str]) -> tuple[str, ...]:
    """These tables and those that have to be pruned before them, in order; all when none is named."""
    wanted = set(names)
    wanted |= {first for name in wanted for first in FIRST.get(name, ())}
    return tuple(table for table in TABLES if table in wanted or not wanted)
