"""What the watch over ingestion, and the dead man's switch, are told by the environment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import Field, SecretStr

from watchline.consumers.environment import Environment
from watchline.consumers.watch.health import Patience
from watchline.schemas.limits import MAX_SECONDS


class WatchSettings(Environment):
    """`WATCHLINE_*`; the address of the dead man's switch also from the file named by `WATCHLINE_DEAD_MAN_URL_FILE`."""

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
    def _without_blanks(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if value != ""}

    @property
    def patience(self) -> Patience:
        """The settings that decide when ingestion is ill."""
        return Patience(
            silent=timedelta(seconds=self.ingestion_silent_seconds),
            delayed=timedelta(seconds=self.ingestion_delayed_seconds),
            ill=timedelta(seconds=self.ingestion_ill_seconds),
            settle=timedelta(seconds=self.ingestion_settle_seconds),
        )
