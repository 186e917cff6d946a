"""The night on paper: the timeline, the messages and the check, at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from watchline.cli.demo.night.account import Change
from watchline.cli.demo.night.clock import on_the_wall
from watchline.cli.demo.night.heard import Heard
from watchline.cli.demo.night.verdict import Line


def timeline_table(changes: Sequence[Change]) -> Table:
    """When, which pipeline, what happened to which incident and why, and who heard of it."""
    table = _table("Timeline: when the log brought it, wall time in Berlin")
    table.add_column("when", no_wrap=True)
    table.add_column("pipeline", no_wrap=True)
    table.add_column("what", no_wrap=True)
    table.add_column("why")
    table.add_column("told", no_wrap=True)
    severities: dict[object, str] = {}
    for each in changes:
        before = severities.get(each.incident_id)
        severities[each.incident_id] = each.severity
        told = "yes" if each.told else "no"
        table.add_row(on_the_wall(each.at), Text(each.pipeline), _what(each, before), Text(_why(each)), told)
    return table


def print_messages(console: Console, heard: Sequence[Heard], changes: Iterable[Change]) -> None:
    """Each message as it was told, under the moment of the night at which the log brought its cause."""
    moments = {(str(each.incident_id)[:8], each.number): each.at for each in changes}
    console.print("\nMessages that people got")
    for each in heard:
        at = moments.get((each.incident, each.number))
        console.print(Text(f"{on_the_wall(at) if at else 'unknown'}  {each.lines[0]}"))
        for line in each.lines[1:]:
            console.print(Padding.indent(Text(line.strip()), 12), soft_wrap=False)


def check_table(lines: Sequence[Line]) -> Table:
    """Expected against found."""
    table = _table("Check: every incident, expected and found")
    table.add_column("incident", no_wrap=True)
    table.add_column("expected")
    table.add_column("found")
    for each in lines:
        name = Text(f"{each.pipeline}\n{each.kind}")
        same = each.judgement == "as expected"
        found = Text("the same", "green") if same else Text(f"{each.found}\n{each.judgement.upper()}", "bold red")
        table.add_row(name, Text(f"{each.expected}\n{each.why}"), found)
    return table


def _table(title: str) -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=title, title_justify="left")


def _what(each: Change, before: str | None) -> str:
    if each.transition == "updated":
        return f"{each.kind} escalated" if (before, each.severity) == ("warn", "fail") else f"{each.kind} again"
    return f"{each.kind} {each.transition}"


def _why(each: Change) -> str:
    why = (each.reason or "resolved").replace("_", " ") if each.transition == "resolved" else f"{each.title}"
    return why if each.told or not each.quiet else f"{why} ({each.quiet})"
