"""Settings of the sink."""

from __future__ import annotations

import os
from typing import Self

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from watchline.schemas.connection import KafkaConnection, read_secret
from watchline.schemas.errors import Misconfigured
from watchline.schemas.limits import MAX_SECONDS
from watchline.schemas.records import MAX_EPOCHS
from watchline.schemas.topics import Topics


class SinkSettings(BaseSettings):
    """All that the sink can be told, from arguments or `WATCHLINE_*`; secrets are redacted in `repr`."""

    model_config = SettingsConfigDict(env_prefix="WATCHLINE_", frozen=True, extra="ignore", hide_input_in_errors=True)

    postgres_dsn: SecretStr
    topic_prefix: str = "watchline"
    log_epoch: int = Field(default=0, ge=0, lt=MAX_EPOCHS)  # count it up when the broker's log was lost
    batch_size: int = Field(default=5000, ge=1, le=100_000)
    alert_max_age_seconds: float = Field(default=86_400, ge=0, le=MAX_SECONDS)
    kafka: KafkaConnection = Field(default_factory=KafkaConnection.from_environment)
    session_timeout_seconds: float = Field(default=10, ge=2, le=300)
    rebalance_timeout_seconds: float = Field(default=30, ge=2, le=300)
    fetch_wait_ms: int = Field(default=20, ge=1, le=5000)  # the embedded broker answers an empty fetch late
    command_timeout_seconds: float = Field(default=60, gt=0, le=3600)
    retry_max_seconds: float = Field(default=10, gt=0, le=3600)
    breaker_window: int = Field(default=1000, ge=1, le=1_000_000)
    breaker_share: float = Field(default=0.5, gt=0, le=1)

    @property
    def topics(self) -> Topics:
        return Topics(prefix=self.topic_prefix)

    @classmethod
    def from_environment(cls) -> Self:
        """Settings from `WATCHLINE_*`; the DSN also from the file that `WATCHLINE_POSTGRES_DSN_FILE` names."""
        dsn = read_secret(os.environ, "WATCHLINE_POSTGRES_DSN")
        if not dsn:
            raise Misconfigured(
                "no database is given", hint="set WATCHLINE_POSTGRES_DSN or WATCHLINE_POSTGRES_DSN_FILE"
            )
        return cls(postgres_dsn=SecretStr(dsn))
