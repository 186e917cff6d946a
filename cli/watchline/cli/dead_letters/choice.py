"""Which letters an operator means, and which operator decides: ids, filters, a name."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import click

from watchline.cli.dead_letters.letters import Filter, Summary, find
from watchline.consumers.sink.dead_letters import clean
from watchline.schemas.errors import Misconfigured
from watchline.sdk.duration import ONE_DURATION, UNITS

LETTER_ID = click.IntRange(1, 2**63 - 1)
STATUSES = ("open", "redriven", "discarded")


def choose(ids: Sequence[int], *, everything: bool, reason: str | None, statuses: tuple[str, ...]) -> Filter:
    """The filter of `ID…` or of `--all [--reason X]`, which takes only letters of `statuses`."""
    if everything == bool(ids):
        raise Misconfigured(
            "name the letters by their ids, or all of them by --all" + (", not both" if ids else ""),
            hint="`watchline dead-letters list` shows the ids",
        )
    if ids and reason is not None:
        raise Misconfigured("--reason goes with --all", hint="leave it out, or leave the ids out")
    if ids:
        return Filter(STATUSES, ids=tuple(dict.fromkeys(ids)))
    return Filter(statuses, reason=None if reason is None else clean(reason))


async def find_chosen(connection: asyncpg.Connection[Any], wanted: Filter) -> list[Summary]:
    """The chosen letters in the order in which they came; Misconfigured names the ids that don't exist."""
    found = sorted(await find(connection, wanted), key=lambda one: one.dead_letter_id)
    known = {one.dead_letter_id for one in found}
    if wrong := [letter_id for letter_id in wanted.ids or () if letter_id not in known]:
        raise Misconfigured(
            f"no dead letter {', '.join(map(str, wrong))}; nothing was done",
            hint="`watchline dead-letters list` shows the ids",
        )
    return found


def read_since(text: str, *, now: datetime) -> datetime:
    """`24h`, `7d`, or a time in ISO 8601, UTC unless it says otherwise."""
    try:
        if duration := ONE_DURATION.fullmatch(text.strip().lower()):
            return now - timedelta(seconds=float(duration[1]) * UNITS[duration[2]])
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        raise Misconfigured(
            f"--since {text!r} is neither a duration nor a time", hint="write 24h, 7d or 2026-11-30T06:00"
        ) from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def operator() -> str:
    """user@host of whoever runs this command."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that nobody has named
        user = f"uid {os.getuid()}"
    return clean(f"{user}@{socket.gethostname()}")
