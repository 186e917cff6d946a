"""What services that need no Kafka are told by their environment: values, and files that hold the secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self, get_args

from pydantic import SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from watchline.schemas.connection import read_secret
from watchline.schemas.errors import Misconfigured

PREFIX = "WATCHLINE_"


class Environment(BaseSettings):
    """`WATCHLINE_*`; each secret also from the file named by `WATCHLINE_…_FILE`."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", hide_input_in_errors=True)

    @classmethod
    def from_environment(cls) -> Self:
        """Read the environment; `Misconfigured` names the setting and never shows its value."""
        try:
            return cls()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            if not first["loc"]:  # about several of them, which it names
                raise Misconfigured(first["msg"].removeprefix("Value error, "), hint="see docs/alerts.md") from None
            name = PREFIX + "_".join(str(part) for part in first["loc"]).upper()
            wrong = f"{name} is not set" if first["type"] == "missing" else f"{name}: {first['msg']}"
            raise Misconfigured(wrong, hint=f"set {name}, see docs/alerts.md") from None

    @classmethod
    def secrets(cls) -> tuple[str, ...]:
        """The names of the settings that are secret, and can therefore be given as a file."""
        fields = cls.model_fields.items()
        return tuple(name for name, field in fields if SecretStr in (field.annotation, *get_args(field.annotation)))

    @model_validator(mode="before")
    @classmethod
    def _read_secret_files(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: read_secret(os.environ, PREFIX + name.upper()) for name in cls.secrets() if name not in given}
        return cls._without_blanks({**given, **{name: value for name, value in found.items() if value}})

    @classmethod
    def _without_blanks(cls, given: dict[str, Any]) -> dict[str, Any]:
        """What is given, without empty texts that stand for nothing: compose files pass unset variables on as those."""
        return given
