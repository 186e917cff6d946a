"""How to reach Kafka: one description for the SDK, the streams and the consumers."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, SecretStr

from watchline.schemas.errors import Misconfigured
from watchline.schemas.kafka_client import (
    DEFAULT_ADDRESS,
    DEFAULTS,
    PREFIX,
    client_arguments,
    make_ssl_context,
    read_connection,
    read_secret,
)

__all__ = ["PREFIX", "KafkaConnection", "read_secret"]


def refuse_unknown(environment: Mapping[str, str]) -> None:
    """Raise Misconfigured when a variable begins with `WATCHLINE_KAFKA_` and has no meaning."""
    known = {PREFIX + name.upper() for name in DEFAULTS}
    unknown = sorted(
        name for name in environment if name.startswith(PREFIX) and name.removesuffix("_FILE") not in known
    )
    if unknown:
        raise Misconfigured(f"{unknown[0]} is no setting", hint=f"unset it; there are {', '.join(sorted(known))}")


class KafkaConnection(BaseModel):
    """Addresses and credentials of a Kafka cluster; secrets are redacted in `repr`."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    bootstrap_servers: str = DEFAULT_ADDRESS
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read `WATCHLINE_KAFKA_*` (the password also from `…_SASL_PASSWORD_FILE`).

        Misconfigured on a variable that is none: a misspelt SSL_CAFILE must not pass for the system's authorities.
        """
        refuse_unknown(os.environ if environment is None else environment)
        return cls.model_validate(read_connection(environment))

    def client_arguments(self) -> dict[str, Any]:
        """Keyword arguments for any aiokafka client."""
        password = self.sasl_password.get_secret_value() if self.sasl_password else None
        return client_arguments({**self.model_dump(), "sasl_password": password})

    def ssl_context(self) -> ssl.SSLContext:
        """A verifying TLS context with the configured authority and client certificate."""
        return make_ssl_context(self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile)
