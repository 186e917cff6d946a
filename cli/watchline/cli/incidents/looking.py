"""`watchline incidents list` and `show`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import get_args

import click
from rich.text import Text

from watchline.cli.console import out
from watchline.cli.failures import say
from watchline.cli.incidents import display
from watchline.cli.incidents.stored import Change, Incident, changes_of, facts_of, find, find_one, open_incidents
from watchline.cli.settings import read_dsn
from watchline.consumers.sink.dead_letters import clean
from watchline.schemas.records import IncidentKind

STATES: dict[str, Sequence[str] | None] = {
    "unresolved": ("open", "acknowledged"),
    "open": ("open",),
    "acknowledged": ("acknowledged",),
    "resolved": ("resolved",),
    "all": None,
}


@click.command("list", short_help="The incidents, newest first")
@click.option(
    "--status", type=click.Choice(list(STATES)), default="unresolved", show_default=True, help="In which state."
)
@click.option("--pipeline", metavar="NAME", help="Only of this pipeline.")
@click.option("--owner", metavar="NAME", help="Only of this owner.")
@click.option("--kind", type=click.Choice(get_args(IncidentKind)), help="Only of this kind.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@click.option("--format", "layout", type=click.Choice(["table", "json"]), default="table", show_default=True)
def list_command(
    status: str, pipeline: str | None, owner: str | None, kind: str | None, limit: int, layout: str
) -> None:
    """List the incidents, newest first; how many there are goes to stderr.

    With --format json, one object a line.

    \b
    Example:
      watchline incidents list --owner sales
    """
    wanted = {"pipeline": pipeline, "owner": owner, "kind": kind}
    found = asyncio.run(
        _list(read_dsn(), STATES[status], {name: value and clean(value) for name, value in wanted.items()}, limit)
    )
    if layout == "json":
        for one in found:
            click.echo(display.incident_json(one))
    elif found:
        out.print(display.table_of(found, now=datetime.now(UTC)), soft_wrap=False)
    say(display.count_line(found))


@click.command(short_help="Everything about one incident")
@click.argument("incident", metavar="ID")
@click.option("--format", "layout", type=click.Choice(["text", "json"]), default="text", show_default=True)
def show(incident: str, layout: str) -> None:
    """Show an incident: what was seen, who takes care of it, every change.

    The first characters of the id are enough, 8 stand in a message.

    \b
    Example:
      watchline incidents show 3e954c53
    """
    found, facts, changes = asyncio.run(_show(read_dsn(), incident))
    if layout == "json":
        more = {"facts": json.loads(facts), "changes": [asdict(change) for change in changes]}
        click.echo(display.incident_json(found, **more))
        return
    for line in display.sheet_of(found, facts, changes, now=datetime.now(UTC)):
        out.print(Text(line))


async def _list(dsn: str, states: Sequence[str] | None, wanted: dict[str, str | None], limit: int) -> list[Incident]:
    async with open_incidents(dsn) as connection:
        return await find(connection, states=states, limit=limit, **wanted)


async def _show(dsn: str, prefix: str) -> tuple[Incident, str, list[Change]]:
    async with open_incidents(dsn) as connection:
        found = await find_one(connection, prefix)
        return found, await facts_of(connection, found.incident_id), await changes_of(connection, found.incident_id)
