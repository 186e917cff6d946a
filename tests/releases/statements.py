"""What the services of released versions say to Postgres, as they said it, values included.

`data/statements_0003.json`: a sink that stores two declarations, two runs of which one is the other's child, a
watermark, an anomaly, two incidents and two dead letters, and a notifier that claims, is refused and is accepted.
Never edit it.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

DATA = Path(__file__).with_name("data")
READ: dict[str, Callable[[Any], Any]] = {
    "uuid": UUID,
    "at": datetime.fromisoformat,
    "seconds": lambda seconds: timedelta(seconds=seconds),
    "bytes": b64decode,
    "decimal": Decimal,
}


def statements_of(service: str, *, revision: str = "0003") -> Iterator[dict[str, Any]]:
    """What `service` (sink or notifier) said, in order."""
    for one in json.loads((DATA / f"statements_{revision}.json").read_text()):
        if one["by"] == service:
            yield one


async def say(connection: asyncpg.Connection, service: str) -> None:
    """Say all of it on one connection."""
    for one in statements_of(service):
        if "copy" in one:
            await connection.copy_records_to_table(one["copy"], records=read(one["rows"]), columns=one["columns"])
        elif one["args"]:
            await connection.fetch(one["sql"], *read(one["args"]))
        else:
            await connection.execute(one["sql"])


def read(value: Any) -> Any:
    """JSON as the values that it stands for: `{"at": …}` is a time, and so on."""
    if isinstance(value, list):
        return [read(each) for each in value]
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return READ[kind](text)
    return value
