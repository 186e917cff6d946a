"""What the watch over ingestion, and the dead man's switch, are told by the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from watchline.consumers.watch.health import Patience
from watchline.schemas.connection import read_secret
from watchline.schemas.errors import Misconfigured
from watchline.schemas.limits import MAX_SECONDS

PREFIX = "WATCHLINE_"
SECRETS = ("dead_man_url",)


class WatchSettings(BaseSettings):
    """`WATCHLINE_*`; the address of the dead man's switch also from the file named by `WATCHLINE_DEAD_MAN_URL_FILE`."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", hide_input_in_errors=True)

    ingestion_look_seconds: float = Field(default=15, gt=0, le=3600)
    ingestion_silent_seconds: float = Field(default=90, gt=0, le=MAX_SECONDS)
    ingestion_delayed_seconds: float = Field(default=300, gt=0, le=MAX_SECONDS)
    ingestion_ill_seconds: float = Field(default=60, ge=0, le=MAX_SECONDS)
    ingestion_settle_seconds: float = Field(default=120, ge=0, le=MAX_SECONDS)
    dead_man_url: SecretStr | None = None
    dead_man_seconds: float = Field(default=60, gt=0, le=86_400)
    dead_man_stuck_seconds: float = Field(default=300, gt=0, le=MAX_SECONDS)
    dead_man_allow_insecure: bool = False

    @classmethod
    def from_environment(cls) -> Self:
        """Read the environment; `Misconfigured` names the setting and never shows its value."""
        try:
            return cls()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = PREFIX + "_".join(str(part) for part in first["loc"]).upper()
            raise Misconfigured(f"{name}: {first['msg']}", hint=f"set {name}, see docs/alerts.md") from None

    @model_validator(mode="before")
    @classmethod
    def _read_secret_files(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: read_secret(os.environ, PREFIX + name.upper()) for name in SECRETS if name not in given}
        read = {**given, **{name: value for name, value in found.items() if value}}
        return {name: value for name, value in read.items() if value != ""}  # compose passes unset ones on as empty

    @property
    def patience(self) -> Patience:
        """The settings that decide when ingestion is ill."""
        return Patience(
            silent=timedelta(seconds=self.ingestion_silent_seconds),
            delayed=timedelta(seconds=self.ingestion_delayed_seconds),
            ill=timedelta(seconds=self.ingestion_ill_seconds),
            settle=timedelta(seconds=self.ingestion_settle_seconds),
        )
