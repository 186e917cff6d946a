"""`watchline incidents ack`, `resolve` and `snooze`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click

from watchline.cli.incidents.sending import Waiting, read_until, send, sending_options
from watchline.cli.incidents.stored import find_one, open_incidents
from watchline.cli.settings import read_dsn
from watchline.schemas.errors import Misconfigured


@click.command(short_help="Take care of an incident: no more reminders")
@click.argument("incident", metavar="ID")
@sending_options
def ack(incident: str, *, note: str | None, wait: bool, seconds: float, layout: str) -> None:
    """Acknowledge an incident: no reminders of it any more.

    It is told all the same when it gets worse, and when it ends.

    \b
    Example:
      watchline incidents ack 3e954c53 --note "disk is being replaced"
    """
    _decide("incident.acknowledged", incident, {"note": note}, Waiting(wait, seconds, layout))


@click.command(short_help="Close an incident by hand")
@click.argument("incident", metavar="ID")
@sending_options
def resolve(incident: str, *, note: str | None, wait: bool, seconds: float, layout: str) -> None:
    """Close an incident by hand.

    The next failed or odd run opens another one; stale data stays quiet until it
    has changed once.

    \b
    Example:
      watchline incidents resolve 3e954c53 --note "known, see the wiki"
    """
    _decide("incident.resolved", incident, {"note": note}, Waiting(wait, seconds, layout))


@click.command(short_help="Hear nothing of an incident for a while")
@click.argument("incident", metavar="ID")
@click.option("--for", "duration", required=True, metavar="DURATION", help="How long: 30m, 2h, 3d.")
@sending_options
def snooze(incident: str, *, duration: str, note: str | None, wait: bool, seconds: float, layout: str) -> None:
    """Hear nothing of an incident for a while.

    A reminder comes when the while is over and the incident is still open. When it
    gets worse, that is told at once.

    \b
    Example:
      watchline incidents snooze 3e954c53 --for 8h
    """
    until = read_until(duration, now=datetime.now(UTC))
    _decide("incident.snoozed", incident, {"note": note, "until": until}, Waiting(wait, seconds, layout))


def _decide(event_type: str, prefix: str, fields: Mapping[str, Any], waiting: Waiting) -> None:
    asyncio.run(_send(read_dsn(), event_type, prefix, fields, waiting))


async def _send(dsn: str, event_type: str, prefix: str, fields: Mapping[str, Any], waiting: Waiting) -> None:
    async with open_incidents(dsn) as connection:
        found = await find_one(connection, prefix)
        if found.state == "resolved":
            raise Misconfigured(
                f"incident {found.incident_id} is resolved ({found.resolve_reason})", hint="nothing is left to decide"
            )
        await send(connection, event_type, found.pipeline, {"incident_id": str(found.incident_id), **fields}, waiting)
