"""Why Kafka lets us not in, when it is TLS or the login: aiokafka only logs it, and then says that nobody answers."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from aiokafka.conn import create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    AuthenticationMethodNotSupported,
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Misconfigured

PATIENCE_SECONDS = 3.0
ALERT_SECONDS = 0.5  # a broker that misses our certificate says so after the handshake
REFUSED_LOGIN = (
    AuthenticationFailedError,
    AuthenticationMethodNotSupported,
    IllegalSaslStateError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)


async def find_refusal(kafka: KafkaConnection) -> Misconfigured | None:
    """What the first address objects to; None when it does not, or when nobody answers there."""
    arguments = kafka.client_arguments()
    first = urlsplit(f"//{arguments.pop('bootstrap_servers')[0].strip()}")
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _shake_hands(first.hostname, first.port, arguments.get("ssl_context"))
            connection = await create_conn(first.hostname, first.port, **arguments)
            connection.close()
    except ssl.SSLError as error:
        return Misconfigured(
            f"TLS with Kafka at {kafka.bootstrap_servers} fails: {describe_tls(error)}",
            hint="check WATCHLINE_KAFKA_SSL_* and that the address is the name in the broker's certificate",
        )
    except REFUSED_LOGIN as error:
        return refused_login(kafka, error)
    except (KafkaError, OSError, TimeoutError):  # neither of the two: the caller says that nobody answers
        return None
    return None


def refused_login(kafka: KafkaConnection, error: Exception) -> Misconfigured:
    """What to say of a login that the broker refuses, for the reason that the broker gives."""
    return Misconfigured(
        f"Kafka at {kafka.bootstrap_servers} refuses the login: {error}", hint="check WATCHLINE_KAFKA_SASL_*"
    )


def describe_tls(error: ssl.SSLError) -> str:
    """The reason alone, without the place in OpenSSL's source."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return (error.reason or str(error)).replace("_", " ").lower()


async def _shake_hands(host: str | None, port: int | None, context: Any) -> None:
    """Do what TLS has to do, and hear what the broker says of our certificate; raises SSLError."""
    if context is None:
        return
    reader, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(1), ALERT_SECONDS)
    finally:
        writer.close()
