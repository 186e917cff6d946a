"""What the notifier is told by its environment."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Self

from pydantic import Field, SecretStr, TypeAdapter, ValidationError, field_validator, model_validator
from pydantic_settings import NoDecode

from watchline.consumers.environment import Environment
from watchline.consumers.notifier.grouping import Timing
from watchline.consumers.notifier.routing import Rule
from watchline.schemas.limits import MAX_SECONDS

RULES = TypeAdapter(tuple[Rule, ...])


class NotifierSettings(Environment):
    """`WATCHLINE_*`; each secret also from the file named by `WATCHLINE_…_FILE`."""

    postgres_dsn: SecretStr
    slack_webhook_url: SecretStr | None = None
    slack_fallback_webhook_url: SecretStr | None = None
    slack_bot_token: SecretStr | None = None
    slack_channel: str | None = Field(default=None, max_length=100)
    slack_fallback_channel: str | None = Field(default=None, max_length=100)
    slack_routes: SecretStr | None = None
    slack_api_url: str = "https://slack.com/api/"
    slack_allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ("hooks.slack.com",)
    slack_allow_insecure: bool = False
    group_wait_seconds: float = Field(default=30, ge=0, le=MAX_SECONDS)
    group_interval_seconds: float = Field(default=300, ge=0, le=MAX_SECONDS)
    repeat_interval_seconds: float = Field(default=14_400, gt=0, le=MAX_SECONDS)
    give_up_after_seconds: float = Field(default=86_400, ge=0, le=MAX_SECONDS)
    inhibit_settle_seconds: float = Field(default=600, ge=0, le=MAX_SECONDS)
    digest_above: int = Field(default=20, ge=1)
    digest_window_seconds: float = Field(default=300, gt=0, le=MAX_SECONDS)
    lease_seconds: float = Field(default=60, gt=0, le=86_400)
    poll_seconds: float = Field(default=0.5, gt=0, le=3600)
    request_timeout_seconds: float = Field(default=10, gt=0, le=600)
    messages_per_second: float = Field(default=1, gt=0, le=1_000_000)

    @field_validator(
        "slack_webhook_url",
        "slack_fallback_webhook_url",
        "slack_bot_token",
        "slack_channel",
        "slack_fallback_channel",
        "slack_routes",
        mode="before",
    )
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return None if value == "" else value  # compose files pass unset variables on as empty

    @field_validator("slack_allowed_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: Any) -> Any:
        return tuple(host.strip() for host in value.split(",") if host.strip()) if isinstance(value, str) else value

    @field_validator("slack_routes")
    @classmethod
    def _routes_can_be_read(cls, value: SecretStr | None) -> SecretStr | None:
        try:
            RULES.validate_json(value.get_secret_value() if value else "[]")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from None
        return value

    @model_validator(mode="after")
    def _a_bot_has_channels(self) -> Self:
        by_name = [rule.channel for rule in self.rules if rule.channel is not None]
        named = [self.slack_channel, self.slack_fallback_channel, *by_name]
        if self.slack_bot_token is None and any(name is not None for name in named):
            raise ValueError("a channel by name needs WATCHLINE_SLACK_BOT_TOKEN")
        if self.slack_bot_token is not None and not by_name and not self.reaches_slack:
            raise ValueError("WATCHLINE_SLACK_BOT_TOKEN needs WATCHLINE_SLACK_CHANNEL")
        return self

    @model_validator(mode="after")
    def _a_lease_outlasts_a_request(self) -> Self:
        if self.lease_seconds <= self.request_timeout_seconds:
            raise ValueError(
                f"WATCHLINE_LEASE_SECONDS ({self.lease_seconds:g}) must be longer than "
                f"WATCHLINE_REQUEST_TIMEOUT_SECONDS ({self.request_timeout_seconds:g}), best three times as long: "
                "another notifier would send what is still under way"
            )
        return self

    @property
    def reaches_slack(self) -> bool:
        """Whether anything goes to Slack by default, instead of to the terminal."""
        return self.slack_channel is not None or self.slack_webhook_url is not None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The routes, the first that fits wins."""
        return RULES.validate_json(self.slack_routes.get_secret_value() if self.slack_routes else "[]")

    @property
    def timing(self) -> Timing:
        """The settings that decide when a group is told."""
        return Timing(
            group_wait=timedelta(seconds=self.group_wait_seconds),
            group_interval=timedelta(seconds=self.group_interval_seconds),
            repeat_interval=timedelta(seconds=self.repeat_interval_seconds),
            settle=timedelta(seconds=self.inhibit_settle_seconds),
            digest_above=self.digest_above,
            digest_window=timedelta(seconds=self.digest_window_seconds),
        )
