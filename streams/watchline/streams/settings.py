"""Settings of the streams, read once from `WATCHLINE_*`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from watchline.schemas.connection import KafkaConnection
from watchline.schemas.records import MAX_EPOCHS
from watchline.schemas.topics import PARTITIONS, Topics


class StreamsSettings(BaseSettings):
    """How a worker runs; every field has an environment variable of its name with the prefix `WATCHLINE_`."""

    model_config = SettingsConfigDict(env_prefix="WATCHLINE_", frozen=True, extra="ignore", hide_input_in_errors=True)

    kafka: KafkaConnection = Field(default_factory=KafkaConnection.from_environment)
    topic_prefix: str = "watchline"
    partitions: int = Field(default=PARTITIONS, ge=1, le=1024)
    replication_factor: int = Field(default=1, ge=1, le=9)
    log_epoch: int = Field(
        default=0, ge=0, lt=MAX_EPOCHS, description="raise it by one when the topics were lost and made anew"
    )
    pulse_seconds: float = Field(default=5.0, gt=0, le=60)
    pulses: bool = Field(default=True, description="off where somebody else writes the pulses: a log that is replayed")
    settle_seconds: float = Field(default=30.0, ge=0, le=3600)
    batch_size: int = Field(default=2000, ge=1, le=20_000)
    fetch_wait_ms: int = Field(default=20, ge=1, le=5000)
    session_timeout_seconds: float = Field(default=10.0, ge=2, le=300)
    rebalance_timeout_seconds: float = Field(default=30.0, ge=2, le=300)
    commit_interval_seconds: float = Field(default=1.0, gt=0, le=60)
    breaker_window: int = Field(default=1000, ge=1, le=1_000_000)
    breaker_share: float = Field(default=0.5, gt=0, le=1)
    ready_file: Path | None = None

    @property
    def topics(self) -> Topics:
        return Topics(self.topic_prefix)
