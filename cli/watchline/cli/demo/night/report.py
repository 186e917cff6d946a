"""The night on paper: the timeline, the messages and the check, at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from watchline.cli.demo.night.account import Change
from watchline.cli.demo.night.clock import on_the_wall
from watchline.cli.demo.night.heard import Heard
from watchline.cli.demo.night.telling import Story
from watchline.cli.demo.night.verdict import Line


def timeline_table(changes: Sequence[Change]) -> Table:
    """When, which pipeline, what happened to which incident and why, and who heard of it."""
    table = _table("Timeline: when the log brought it, wall time in Berlin")
    for name in ("when", "pipeline"):
        table.add_column(name, no_wrap=True)
    table.add_column("what, and why")
    table.add_column("told", no_wrap=True)
    severities: dict[object, str] = {}
    for each in changes:
        what = _what(each, severities.get(each.incident_id))
        severities[each.incident_id] = each.severity
        why = (each.reason or "").replace("_", " ") if each.transition == "resolved" else each.title
        told = "yes" if each.told else f"under {each.under}" if each.under else "no"
        table.add_row(on_the_wall(each.at), Text(each.pipeline), Text(f"{what}: {why}"), told)
    return table


def messages_table(heard: Sequence[Heard], changes: Iterable[Change]) -> Table:
    """Each message as it was told, with the moment of the night at which the log brought its cause."""
    moments = {(str(each.incident_id)[:8], each.number): each.at for each in changes}
    table = _table("Messages that people got")
    table.add_column("when", no_wrap=True)
    table.add_column("message")
    for each in sorted(heard, key=lambda one: moments[one.incident, one.number]):
        first, *rest = each.lines
        table.add_row(on_the_wall(moments[each.incident, each.number]), Text(first, "bold"))
        for line in rest:
            table.add_row("", Text(line.strip(), "dim"))
    return table


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


def quiet_table(stories: Iterable[Story]) -> Table:
    """What nobody heard of, and rightly so."""
    table = _table("Nobody was told of")
    table.add_column()
    table.show_header = False
    for story in stories:
        if story.quiet is not None:
            table.add_row(Text(story.quiet))
    return table


def _table(title: str) -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=title, title_justify="left")


def _what(each: Change, before: str | None) -> str:
    if each.transition == "updated":
        return f"{each.kind} escalated" if (before, each.severity) == ("warn", "fail") else f"{each.kind} again"
    return f"{each.kind} {each.transition}"
