"""How to reach Kafka: one description for the SDK, the streams and the consumers."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, SecretStr

from watchline.schemas.kafka_client import (
    DEFAULT_ADDRESS,
    PREFIX,
    client_arguments,
    make_ssl_context,
    read_connection,
    read_secret,
)

__all__ = ["PREFIX", "KafkaConnection", "read_secret"]


class KafkaConnection(BaseModel):
    """Addresses and credentials of a Kafka cluster; secrets are redacted in `repr`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
        """Read `WATCHLINE_KAFKA_*` (the password also from `…_SASL_PASSWORD_FILE`)."""
        return cls.model_validate(read_connection(environment))

    def client_arguments(self) -> dict[str, Any]:
        """Keyword arguments for any aiokafka client."""
        password = self.sasl_password.get_secret_value() if self.sasl_password else None
        return client_arguments({**self.model_dump(), "sasl_password": password})

    def ssl_context(self) -> ssl.SSLContext:
        """A verifying TLS context with the configured authority and client certificate."""
        return make_ssl_context(self.ssl_cafile, self.ssl_certfile, self.ssl_keyfile)
