"""Commands on their way: through Kafka to the streams, and back from the sink with what became of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
import click

from watchline.cli.dead_letters.choice import operator
from watchline.cli.failures import say
from watchline.cli.incidents.display import json_of
from watchline.cli.incidents.stored import wait_for_outcome
from watchline.cli.jobs import Seconds, deliver
from watchline.consumers.notifier.wording import utc
from watchline.schemas import decode
from watchline.schemas.errors import BadEvent, Misconfigured, Unavailable, WatchlineError
from watchline.schemas.printing import printable
from watchline.sdk.client import read_environment
from watchline.sdk.duration import ONE_DURATION, UNITS
from watchline.sdk.events import complete_event, pack

ACK_SECONDS = 15.0
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether to wait for the sink, how long at most, and how to print what was sent."""

    wait: bool
    seconds: float
    layout: str


def sending_options(command: Command) -> Command:
    """The options that every command has that sends something."""
    for option in (
        click.option("--format", "layout", type=click.Choice(["text", "json"]), default="text", show_default=True),
        click.option(
            "--timeout", "seconds", type=Seconds(0.1, 3600), default=30.0, show_default=True,
            help="Seconds to wait for the sink.",
        ),
        click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until the sink has it."),
        click.option("--note", metavar="TEXT", help="Why; it is kept and shown."),
    ):  # fmt: skip
        command = option(command)
    return command


async def send(
    connection: asyncpg.Connection[Any], event_type: str, pipeline: str, fields: Mapping[str, Any], waiting: Waiting
) -> None:
    """Send a command, print it, and see what becomes of it; WatchlineError when it changed nothing or nobody knows."""
    settings = read_environment()
    if settings.disabled or settings.transport == "console":
        raise Misconfigured("WATCHLINE_DISABLED or WATCHLINE_TRANSPORT=console is set, so nothing can be sent")
    event = complete_event({"event_type": event_type, "pipeline": pipeline, "by": operator()[:200], **fields})
    message = pack(event, settings.topics)
    try:
        decode(message.value, now=datetime.now(UTC))
    except BadEvent as bad:
        raise Misconfigured(f"the command can't be sent: {bad.detail}") from bad
    await deliver(settings, message, ACK_SECONDS)
    outcome = await _outcome(connection, UUID(event["event_id"]), waiting) if waiting.wait else ("sent", "")
    _print(event, outcome, waiting)
    if outcome[0] == "ignored":
        raise WatchlineError(f"it changed nothing: {outcome[1]}")


def read_until(duration: str, *, now: datetime) -> str:
    """When a while that begins now ends: 30m, 2h, 3d; in RFC 3339."""
    found = ONE_DURATION.fullmatch(duration.strip().lower())
    try:
        length = timedelta(seconds=float(found[1]) * UNITS[found[2]]) if found else timedelta(0)
        if not timedelta(0) < length <= timedelta(days=365):
            raise ValueError("a while is longer than nothing and shorter than a year")
        return (now + length).isoformat()
    except (ValueError, OverflowError) as error:
        raise Misconfigured(f"--for {duration!r} is no duration up to 365d", hint="write 30m, 2h or 3d") from error


async def _outcome(connection: asyncpg.Connection[Any], event_id: UUID, waiting: Waiting) -> tuple[str, str]:
    try:
        return await wait_for_outcome(connection, event_id, waiting.seconds)
    except TimeoutError as error:
        raise Unavailable(
            f"Kafka has the command {event_id}, the sink has it not yet after {waiting.seconds:g} s",
            hint="it will be obeyed all the same; `watchline doctor` tells how far streams and sink are behind",
        ) from error


def _print(event: Mapping[str, Any], outcome: tuple[str, str], waiting: Waiting) -> None:
    if waiting.layout == "json":
        click.echo(json_of({**event, "outcome": outcome[0], "detail": outcome[1]}))
        return
    about = ("incident_id", "run_id", "verdict", "check", "until", "metrics", "reason", "note")
    parts = [f"{name.removesuffix('_id')} {_shown(event[name])}" for name in about if event.get(name)]
    click.echo(f"{event['event_type']} {printable(event['pipeline'], 200)}: {', '.join([*parts, 'by ' + event['by']])}")
    if outcome[0] == "applied":
        say(outcome[1] or "the streams have obeyed it and the sink has stored it")
    elif outcome[0] == "sent":
        say("Kafka has it; nobody waited for the streams and the sink")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        try:
            return utc(datetime.fromisoformat(value)) if value[4:5] == "-" and "T" in value else printable(value, 500)
        except ValueError:
            return printable(value, 500)
    return printable(json.dumps(value), 500)
