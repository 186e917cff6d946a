"""How to reach Kafka: one description for the SDK, the streams and the consumers."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, SecretStr

from watchline.schemas.errors import Misconfigured

PREFIX = "WATCHLINE_KAFKA_"


def read_secret(environment: Mapping[str, str], name: str) -> str | None:
    """The value of `name`, or the stripped content of the file that `name`_FILE points to."""
    if name in environment:
        return environment[name]
    path = environment.get(f"{name}_FILE")
    if path is None:
        return None
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise Misconfigured(f"{name}_FILE points to {path}, which can't be read", hint=str(error)) from error


class KafkaConnection(BaseModel):
    """Addresses and credentials of a Kafka cluster; secrets are redacted in `repr`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bootstrap_servers: str = "127.0.0.1:9092"
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
        env = os.environ if environment is None else environment
        found = {name: read_secret(env, PREFIX + name.upper()) for name in cls.model_fields}
        return cls.model_validate({name: value for name, value in found.items() if value is not None})

    def client_arguments(self) -> dict[str, Any]:
        """Keyword arguments for any aiokafka client."""
        arguments: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap_servers.split(","),
            "security_protocol": self.security_protocol,
        }
        if self.security_protocol.startswith("SASL"):
            arguments |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self.sasl_password.get_secret_value() if self.sasl_password else None,
            }
        if self.security_protocol.endswith("SSL"):
            arguments["ssl_context"] = self.ssl_context()
        return arguments

    def ssl_context(self) -> ssl.SSLContext:
        """A verifying TLS context with the configured authority and client certificate."""
        try:
            context = ssl.create_default_context(cafile=self.ssl_cafile)
            if self.ssl_certfile:
                context.load_cert_chain(self.ssl_certfile, self.ssl_keyfile)
        except (OSError, ssl.SSLError) as error:
            raise Misconfigured(
                f"the TLS files can't be loaded: {error}", hint="check WATCHLINE_KAFKA_SSL_*"
            ) from error
        return context
