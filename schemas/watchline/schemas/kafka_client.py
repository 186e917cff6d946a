"""What a Kafka client is told of addresses and credentials, without pydantic: a short job can't wait for it."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from watchline.schemas.errors import Misconfigured

PREFIX = "WATCHLINE_KAFKA_"
CONNECTION_LOGGER = "aiokafka.conn"
DEFAULT_ADDRESS = "127.0.0.1:9092"
DEFAULTS = {
    "bootstrap_servers": DEFAULT_ADDRESS,
    "security_protocol": "PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": None,
    "sasl_password": None,
    "ssl_cafile": None,
    "ssl_certfile": None,
    "ssl_keyfile": None,
}


def read_secret(environment: Mapping[str, str], name: str) -> str | None:
    """The value of `name`, or the stripped content of the file that `name`_FILE points to."""
    if name in environment:
        return environment[name]
    path = environment.get(f"{name}_FILE")
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise Misconfigured(f"{name}_FILE points to {path}, which can't be read", hint=str(error)) from error
    except UnicodeDecodeError:  # its text and its traceback hold the bytes
        raise Misconfigured(f"{name}_FILE points to {path}, which is no UTF-8 text", hint="save it as UTF-8") from None


def read_connection(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What `WATCHLINE_KAFKA_*` say, by the names of DEFAULTS (the password also from `…_SASL_PASSWORD_FILE`)."""
    env = os.environ if environment is None else environment
    found = {name: read_secret(env, PREFIX + name.upper()) for name in DEFAULTS}
    return {name: value for name, value in found.items() if value is not None}


def client_arguments(connection: Mapping[str, str | None]) -> dict[str, Any]:
    """Keyword arguments for any aiokafka client; DEFAULTS hold for what `connection` does not say."""
    known: dict[str, str | None] = {**DEFAULTS, **connection}
    protocol = str(known["security_protocol"])
    logging.getLogger(CONNECTION_LOGGER).addFilter(hide_login)  # once: the same filter is not added again
    arguments: dict[str, Any] = {
        "bootstrap_servers": str(known["bootstrap_servers"]).split(","),
        "security_protocol": protocol,
    }
    if protocol.startswith("SASL"):
        arguments |= {
            "sasl_mechanism": known["sasl_mechanism"],
            "sasl_plain_username": known["sasl_username"],
            "sasl_plain_password": known["sasl_password"],
        }
    if protocol.endswith("SSL"):
        arguments["ssl_context"] = make_ssl_context(known["ssl_cafile"], known["ssl_certfile"], known["ssl_keyfile"])
    return arguments


def hide_login(record: logging.LogRecord) -> bool:
    """aiokafka logs every request at DEBUG as it is; that of a login holds the password."""
    if isinstance(record.args, tuple):
        record.args = tuple(f"{name}(…)" if "Sasl" in (name := type(one).__name__) else one for one in record.args)
    return True


def make_ssl_context(cafile: str | None, certfile: str | None, keyfile: str | None) -> ssl.SSLContext:
    """A verifying TLS context with an authority and a client certificate; None: the system's, and none."""
    try:
        context = ssl.create_default_context(cafile=cafile)
        if certfile:
            context.load_cert_chain(certfile, keyfile)
    except (OSError, ssl.SSLError) as error:
        raise Misconfigured(f"the TLS files can't be loaded: {error}", hint="check WATCHLINE_KAFKA_SSL_*") from error
    return context
