"""Which channel an alert belongs to: the first rule that fits, else the default."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

TAKEN = frozenset({"slack", "slack-fallback", "terminal"})


class Traits(NamedTuple):
    """What a rule looks at."""

    pipeline: str
    owner: str | None
    type: str | None
    kind: str
    severity: str


class Rule(BaseModel):
    """Alerts that fit all that is given here go to one place: a channel of the bot's, or a webhook.

    `pipeline` is a pattern with `*` and `?`. `name` is what a webhook is called in logs and tables.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    pipeline: str | None = None
    owner: str | None = None
    type: str | None = None
    kind: str | None = None
    severity: Literal["warn", "fail"] | None = None
    channel: str | None = Field(default=None, min_length=1, max_length=100)
    webhook_url: SecretStr | None = None
    name: str | None = Field(default=None, min_length=1, max_length=100)

    @model_validator(mode="after")
    def _leads_to_one_place(self) -> Self:
        if (self.channel is None) == (self.webhook_url is None):
            raise ValueError("a route needs either channel or webhook_url")
        if self.webhook_url is not None and self.name is None:
            raise ValueError("a route to a webhook_url needs a name")
        if self.destination in TAKEN:
            raise ValueError(f"the name {self.destination} is taken")
        return self

    @property
    def destination(self) -> str:
        """What the place is called."""
        return self.channel or self.name or ""

    def fits(self, traits: Traits) -> bool:
        """Whether an alert with these traits goes here."""
        wanted = (self.owner, self.type, self.kind, self.severity)
        present = (traits.owner, traits.type, traits.kind, traits.severity)
        if any(want is not None and want != have for want, have in zip(wanted, present, strict=True)):
            return False
        return self.pipeline is None or fnmatchcase(traits.pipeline, self.pipeline)


def destination_of(traits: Traits, rules: Sequence[Rule], default: str) -> str:
    """The name of the place where an alert is told."""
    return next((rule.destination for rule in rules if rule.fits(traits)), default)
