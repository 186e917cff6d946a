"""Settings of the SDK: arguments, else WATCHLINE_* variables, else defaults. A wrong one is logged and ignored."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from watchline.schemas.kafka_client import DEFAULT_ADDRESS, client_arguments, read_connection
from watchline.schemas.topics import Topics
from watchline.sdk.harmless import warn_once

if TYPE_CHECKING:
    from watchline.schemas.connection import KafkaConnection

T = TypeVar("T")
Carrier = Literal["kafka", "console"]
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """How this process reports. `connection` None means WATCHLINE_KAFKA_*, read when the background thread connects; a
    text replaces the addresses."""

    connection: KafkaConnection | str | None = None
    topic_prefix: str = "watchline"
    transport: Carrier = "kafka"
    disabled: bool = False
    outbox_dir: Path = Path("~/.cache/watchline/outbox")
    outbox_max_bytes: int = 64 * MIB
    buffer_events: int = 10_000
    buffer_bytes: int = 16 * MIB
    flush_seconds: float = 2.0
    watermark_seconds: float = 5.0
    heartbeat_seconds: float = 30.0
    idempotence: bool = False
    handle_sigterm: bool = True

    @property
    def topics(self) -> Topics:
        """The topic names."""
        return Topics(self.topic_prefix)

    @property
    def outbox_folder(self) -> Path:
        """One folder per topic prefix, so that two Watchlines on one host never send each other's events."""
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in self.topic_prefix)
        try:
            return self.outbox_dir.expanduser() / name
        except RuntimeError as error:  # a user without a home, as containers have
            warn_once("outbox_dir", "watchline has no outbox: %s; set WATCHLINE_OUTBOX_DIR", error)
            return Path(os.devnull) / name  # where nothing can be stored

    @property
    def address(self) -> str:
        """The bootstrap servers, for messages."""
        if self.connection is None or isinstance(self.connection, str):
            return self._known["bootstrap_servers"]
        return self.connection.bootstrap_servers

    def client_arguments(self) -> dict[str, Any]:
        """Keyword arguments for any aiokafka client; what is not given, WATCHLINE_KAFKA_* say."""
        if self.connection is None or isinstance(self.connection, str):
            return client_arguments(self._known)
        return self.connection.client_arguments()

    @property
    def _known(self) -> dict[str, str]:
        given = {} if self.connection is None else {"bootstrap_servers": str(self.connection)}
        return {"bootstrap_servers": DEFAULT_ADDRESS} | read_connection() | given


def read_settings(arguments: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Settings from arguments (None means not given) and the environment."""
    found = {name: read(environment[variable]) for name, variable, read in _readers(environment)}
    given = {name: value for name, value in arguments.items() if value is not None}
    if "outbox_dir" in given:
        given["outbox_dir"] = Path(given["outbox_dir"])
    usable = {name: value for name, value in found.items() if value is not None}
    return Settings(**{"outbox_dir": default_outbox(environment), **usable, **given})


def default_outbox(environment: Mapping[str, str]) -> Path:
    """Where the outbox lies when WATCHLINE_OUTBOX_DIR is not set."""
    if local := environment.get("LOCALAPPDATA"):
        return Path(local) / "watchline" / "outbox"
    cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache) / "watchline" / "outbox"


def _readers(environment: Mapping[str, str]) -> list[tuple[str, str, Callable[[str], Any]]]:
    """The settings that the environment names: field, variable and how to read it (None: wrong, said once)."""
    table: list[tuple[str, str, Callable[[str], Any]]] = [
        ("topic_prefix", "WATCHLINE_TOPIC_PREFIX", str),
        ("transport", "WATCHLINE_TRANSPORT", read_carrier),
        ("disabled", "WATCHLINE_DISABLED", read_switch),
        ("outbox_dir", "WATCHLINE_OUTBOX_DIR", Path),
        ("outbox_max_bytes", "WATCHLINE_OUTBOX_MAX_BYTES", partial(read_size, least=0)),
        ("buffer_events", "WATCHLINE_BUFFER_EVENTS", read_size),
        ("buffer_bytes", "WATCHLINE_BUFFER_BYTES", read_size),
        ("flush_seconds", "WATCHLINE_FLUSH_SECONDS", read_seconds),
        ("watermark_seconds", "WATCHLINE_WATERMARK_SECONDS", read_seconds),
        ("heartbeat_seconds", "WATCHLINE_HEARTBEAT_SECONDS", read_seconds),
        ("idempotence", "WATCHLINE_IDEMPOTENCE", read_switch),
        ("handle_sigterm", "WATCHLINE_HANDLE_SIGTERM", read_switch),
    ]
    present = [row for row in table if environment.get(row[1])]
    return [(name, variable, _forgiving(variable, read)) for name, variable, read in present]


def _forgiving(variable: str, read: Callable[[str], T]) -> Callable[[str], T | None]:
    def read_or_warn(text: str) -> T | None:
        try:
            return read(text)
        except ValueError as error:
            warn_once(variable, "%s is wrong and ignored: %s", variable, error)
            return None

    return read_or_warn


def read_carrier(text: str) -> Carrier:
    """`kafka` or `console`."""
    for carrier in get_args(Carrier):
        if text.strip().lower() == carrier:
            return carrier  # type: ignore[no-any-return]  # get_args has no types
    raise ValueError(f"{text!r} is neither kafka nor console")


def read_switch(text: str) -> bool:
    """1, true, yes, on or their opposites."""
    word = text.strip().lower()
    if word in {"1", "true", "yes", "on"}:
        return True
    if word in {"0", "false", "no", "off"}:
        return False
    raise ValueError(f"{text!r} is neither 1 nor 0")


def read_size(text: str, *, least: int = 1) -> int:
    """A whole number of `least` or more: a buffer without room would drop every event."""
    size = int(text)
    if size < least:
        raise ValueError(f"{text!r} is below {least}")
    return size


def read_seconds(text: str) -> float:
    """A finite number of seconds, 0 or more."""
    seconds = float(text)
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{text!r} is no number of seconds")
    return seconds
