"""Reading settings: what the environment says, or one line that names the variable that is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from pydantic import ValidationError

from watchline.schemas.connection import PREFIX, KafkaConnection, read_secret
from watchline.schemas.errors import Misconfigured
from watchline.schemas.topics import Topics

Settings = TypeVar("Settings")


def read_settings(read: Callable[[], Settings], *, prefix: str = "WATCHLINE_") -> Settings:
    """What `read` returns; Misconfigured names the first variable that is missing or wrong."""
    try:
        return read()
    except ValidationError as error:
        raise _translate(error, prefix) from error


def read_kafka() -> KafkaConnection:
    """The Kafka connection that WATCHLINE_KAFKA_* describe."""
    return read_settings(KafkaConnection.from_environment, prefix=PREFIX)


def read_topics() -> Topics:
    """The topic names under WATCHLINE_TOPIC_PREFIX."""
    return Topics(os.environ.get("WATCHLINE_TOPIC_PREFIX") or "watchline")


def read_dsn() -> str:
    """WATCHLINE_POSTGRES_DSN, or the content of the file named by WATCHLINE_POSTGRES_DSN_FILE."""
    dsn = read_secret(os.environ, "WATCHLINE_POSTGRES_DSN")
    if not dsn:
        raise Misconfigured(
            "WATCHLINE_POSTGRES_DSN is not set",
            hint="export WATCHLINE_POSTGRES_DSN=postgresql://user:password@host:5432/watchline; "
            "`watchline dev` needs none",
        )
    return dsn


def _translate(error: ValidationError, prefix: str) -> Misconfigured:
    first = error.errors(include_url=False, include_input=False)[0]
    place = "_".join(str(part) for part in first["loc"][:1]).upper()
    name = place if place.startswith(prefix) else prefix + place
    if first["type"] == "missing":
        return Misconfigured(f"{name} is not set", hint=f"export {name}=…")
    return Misconfigured(f"{name} is wrong: {first['msg']}", hint=f"correct {name}, or unset it for the default")
