"""What the notifier is told by its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from watchline.consumers.notifier.grouping import Timing
from watchline.schemas.connection import read_secret
from watchline.schemas.errors import Misconfigured
from watchline.schemas.limits import MAX_SECONDS

PREFIX = "WATCHLINE_"
SECRETS = ("postgres_dsn", "slack_webhook_url", "slack_fallback_webhook_url")


class NotifierSettings(BaseSettings):
    """`WATCHLINE_*`; each secret also from the file named by `WATCHLINE_…_FILE`."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", hide_input_in_errors=True)

    postgres_dsn: SecretStr
    slack_webhook_url: SecretStr | None = None
    slack_fallback_webhook_url: SecretStr | None = None
    slack_allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ("hooks.slack.com",)
    slack_allow_insecure: bool = False
    group_wait_seconds: float = Field(default=30, ge=0, le=MAX_SECONDS)
    group_interval_seconds: float = Field(default=300, ge=0, le=MAX_SECONDS)
    repeat_interval_seconds: float = Field(default=14_400, gt=0, le=MAX_SECONDS)
    give_up_after_seconds: float = Field(default=86_400, ge=0, le=MAX_SECONDS)
    digest_above: int = Field(default=20, ge=1)
    lease_seconds: float = Field(default=60, gt=0, le=86_400)
    poll_seconds: float = Field(default=0.5, gt=0, le=3600)
    request_timeout_seconds: float = Field(default=10, gt=0, le=600)
    messages_per_second: float = Field(default=1, gt=0, le=1_000_000)

    @classmethod
    def from_environment(cls) -> Self:
        """Read the environment; `Misconfigured` names the setting and never shows its value."""
        try:
            return cls()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = PREFIX + "_".join(str(part) for part in first["loc"]).upper()
            wrong = f"{name} is not set" if first["type"] == "missing" else f"{name}: {first['msg']}"
            raise Misconfigured(wrong, hint=f"set {name}, see docs/alerts.md") from None

    @model_validator(mode="before")
    @classmethod
    def _read_secret_files(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: read_secret(os.environ, PREFIX + name.upper()) for name in SECRETS if name not in given}
        return {**given, **{name: value for name, value in found.items() if value}}

    @field_validator("slack_webhook_url", "slack_fallback_webhook_url", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return None if value == "" else value  # compose files pass unset variables on as empty

    @field_validator("slack_allowed_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: Any) -> Any:
        return tuple(host.strip() for host in value.split(",") if host.strip()) if isinstance(value, str) else value

    @property
    def timing(self) -> Timing:
        """The settings that decide when a group is told."""
        return Timing(
            group_wait=timedelta(seconds=self.group_wait_seconds),
            group_interval=timedelta(seconds=self.group_interval_seconds),
            repeat_interval=timedelta(seconds=self.repeat_interval_seconds),
            digest_above=self.digest_above,
        )
