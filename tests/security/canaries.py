"""Secrets that can be found again: one in every setting that is secret, whichever settings there will be."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, SecretStr
from pydantic_settings import BaseSettings

import watchline
from watchline.schemas.connection import PREFIX, KafkaConnection

CANARY = "canary-4c1f"
RUN_WHEN_IMPORTED = ("__main__", "launch")


@dataclass(frozen=True, slots=True)
class Secret:
    """A setting that must not be shown: its class, its field, and the variable that it comes from."""

    owner: type[BaseModel]
    field: str
    variable: str

    @property
    def canary(self) -> str:
        """What stands in it: of a form that its readers accept, nowhere that anybody answers."""
        mark = f"{CANARY}-{self.variable.lower().replace('_', '-')}"
        if "dsn" in self.field:
            return f"postgresql://watchline:{mark}@127.0.0.1:1/watchline"
        if "routes" in self.field:
            route = {
                "owner": "nobody",
                "name": "nobody",
                "webhook_url": f"https://hooks.slack.com/services/T0/B0/{mark}",
            }
            return json.dumps([route])
        return f"https://hooks.slack.com/services/T0/B0/{mark}" if "url" in self.field else mark


@cache
def settings_classes() -> tuple[type[BaseModel], ...]:
    """Every class of settings in the product."""
    for module in pkgutil.walk_packages(watchline.__path__, "watchline."):
        if not module.name.endswith(RUN_WHEN_IMPORTED):
            importlib.import_module(module.name)
    return (KafkaConnection, *sorted(subclasses(BaseSettings), key=lambda one: one.__name__))


def subclasses(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith("watchline."):
            yield each
        yield from subclasses(each)


def is_secret(annotation: Any) -> bool:
    """SecretStr, or one of several types of which it is one."""
    return annotation is SecretStr or SecretStr in get_args(annotation)


def secrets() -> list[Secret]:
    """Every secret of every class; each service has some of the same."""
    return [
        Secret(owner, name, f"{prefix_of(owner)}{name.upper()}")
        for owner in settings_classes()
        for name, field in owner.model_fields.items()
        if is_secret(field.annotation)
    ]


def prefix_of(owner: type[BaseModel]) -> str:
    return str(owner.model_config.get("env_prefix", "")) or PREFIX


def planted() -> dict[str, str]:
    """The environment with a canary in every secret."""
    return {secret.variable: secret.canary for secret in secrets()}
