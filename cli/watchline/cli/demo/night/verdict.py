"""Expected against found: every incident and every due start, one line each; pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from watchline.cli.demo.night.account import Account, Incident
from watchline.cli.demo.night.clock import clock, on_the_wall
from watchline.cli.demo.night.script import Script
from watchline.cli.demo.night.telling import Outcome

Judgement = Literal["as expected", "missing", "false", "different"]


@dataclass(frozen=True, slots=True)
class Line:
    """One incident: what was expected, what was found, and why it came."""

    pipeline: str
    kind: str
    expected: str
    found: str
    judgement: Judgement
    why: str


def compare(script: Script, account: Account) -> list[Line]:
    """A line for each expected incident and for each that nobody expected, by pipeline and kind."""
    expected = {(one.pipeline, one.kind): one for one in script.outcomes}
    left = list(account.incidents)
    lines = []
    for key, outcome in expected.items():
        match = next((one for one in left if (one.pipeline, one.kind) == key), None)
        if match is not None:
            left.remove(match)
        lines.append(_line(outcome, match))
    lines += [Line(one.pipeline, one.kind, "nothing", _found(one), "false", "") for one in left]
    return lines


def wrong_starts(script: Script, account: Account) -> list[str]:
    """In words, the starts that did not come to what was expected of them; empty when all did."""
    expected: dict[tuple[str, datetime], str] = {(due.pipeline, due.at): due.state for due in script.dues}
    return list(_differences(expected, account))


def count_starts(account: Account) -> str:
    """`54 met, 1 late, 1 unknown`."""
    counted = Counter(account.starts.values())
    return ", ".join(f"{number} {state}" for state, number in counted.most_common())


def _differences(expected: dict[tuple[str, datetime], str], account: Account) -> Iterator[str]:
    for (pipeline, at), state in account.starts.items():
        wanted = expected.pop((pipeline, at), None)
        if wanted != state:
            yield f"{pipeline} due {on_the_wall(at)}: {state}, expected {wanted or 'no start'}"
    for (pipeline, at), state in expected.items():
        yield f"{pipeline} due {on_the_wall(at)}: not decided, expected {state}"


def _line(outcome: Outcome, found: Incident | None) -> Line:
    expected = _text(
        outcome.opened_at,
        outcome.resolved_at,
        outcome.reason,
        told=_told(told=outcome.under is None, under=outcome.under),
    )
    if found is None:
        return Line(outcome.pipeline, outcome.kind, expected, "nothing", "missing", outcome.why)
    text = _found(found)
    judgement: Judgement = "as expected" if text == expected else "different"
    return Line(outcome.pipeline, outcome.kind, expected, text, judgement, outcome.why)


def _found(one: Incident) -> str:
    return _text(one.opened_at, one.resolved_at, one.reason, told=_told(told=one.told, under=one.under))


def _text(opened: datetime, resolved: datetime | None, reason: str | None, *, told: str) -> str:
    """Opened, resolved and why, and whether people heard of it: all that is compared, to the second."""
    end = "open" if resolved is None else f"{clock(resolved)} {(reason or 'resolved').replace('_', ' ')}"
    return f"{clock(opened)} to {end}, {told}"


def _told(*, told: bool, under: str | None) -> str:
    if under is not None:
        return f"{'told although' if told else 'told'} under {under}"
    return "told" if told else "not told"
