"""The places that the settings name, and the way to each of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import SecretStr

from watchline.consumers.notifier.address import check_webhook, public_addresses
from watchline.consumers.notifier.bot import BotChannel
from watchline.consumers.notifier.channel import Channel
from watchline.consumers.notifier.http import Locate
from watchline.consumers.notifier.route import Line, Route
from watchline.consumers.notifier.settings import NotifierSettings
from watchline.consumers.notifier.slack import SlackChannel
from watchline.consumers.notifier.terminal import TerminalChannel
from watchline.consumers.notifier.workspace import Workspace
from watchline.schemas.errors import Misconfigured

API_HOST = "slack.com"
REQUESTS_A_MESSAGE = 3  # the lease outlasts as many that get no answer


@dataclass
class Channels:
    """The way to each destination by its name; `default` takes what no rule does."""

    default: str
    lines: dict[str, Line] = field(default_factory=dict)
    routes: dict[str, Route] = field(default_factory=dict)

    @property
    def all(self) -> list[Channel]:
        return [line.channel for line in self.lines.values()]

    @property
    def bots(self) -> list[BotChannel]:
        return [channel for channel in self.all if isinstance(channel, BotChannel)]


def open_channels(settings: NotifierSettings) -> Channels:
    """The channels that are configured, each with the fallback behind it; the terminal when there is none."""
    makers = Makers(settings, open_workspace(settings))
    opened = [makers.default(), *makers.of_rules()]
    spare = makers.fallbacks()
    channels = Channels(default=opened[0].name)
    for channel in [*opened, *spare]:
        channels.lines.setdefault(channel.name, Line(channel))
    for channel in opened:
        names = list(dict.fromkeys([channel.name, *(each.name for each in spare)]))
        channels.routes[channel.name] = Route(
            [channels.lines[name] for name in names], messages_per_second=settings.messages_per_second
        )
    return channels


@dataclass(frozen=True, slots=True)
class Makers:
    """Makes channels as the settings say; those of the bot share one workspace."""

    settings: NotifierSettings
    workspace: Workspace | None

    def default(self) -> Channel:
        """What takes alerts that no rule takes."""
        url, name = self.settings.slack_webhook_url, self.settings.slack_channel
        if name is not None:
            return self.bot(name)
        return TerminalChannel() if url is None else self.webhook("slack", url)

    def of_rules(self) -> list[Channel]:
        """One channel for each place that a rule names."""
        places = {rule.destination: rule for rule in self.settings.rules}
        return [
            self.bot(name) if rule.webhook_url is None else self.webhook(name, rule.webhook_url)
            for name, rule in places.items()
        ]

    def fallbacks(self) -> list[Channel]:
        """What takes over when the channel of an alert is broken: a channel of the bot's, then a webhook."""
        name, url = self.settings.slack_fallback_channel, self.settings.slack_fallback_webhook_url
        bots = [] if name is None else [self.bot(name)]
        return [*bots, *([] if url is None else [self.webhook("slack-fallback", url)])]

    def bot(self, name: str) -> Channel:
        """A channel of the workspace; its requests keep the pace, too."""
        if self.workspace is None:
            raise Misconfigured(f"the channel {name} needs a bot", hint="set WATCHLINE_SLACK_BOT_TOKEN")
        pace = 1.0 / self.settings.messages_per_second
        timeout = REQUESTS_A_MESSAGE * self.settings.request_timeout_seconds + 2 * pace
        return BotChannel(self.workspace, name, pace=pace, timeout=timeout)

    def webhook(self, name: str, url: SecretStr) -> Channel:
        """A webhook whose address may be posted to."""
        settings = self.settings
        check_webhook(
            url.get_secret_value(), settings.slack_allowed_hosts, allow_insecure=settings.slack_allow_insecure
        )
        timeout = settings.request_timeout_seconds
        return SlackChannel(url, name=name, timeout=timeout, locate=locator(settings))


def open_workspace(settings: NotifierSettings) -> Workspace | None:
    """The workspace of the bot's token; None without one."""
    if settings.slack_bot_token is None:
        return None
    hosts = (API_HOST, *settings.slack_allowed_hosts)
    check_webhook(settings.slack_api_url, hosts, allow_insecure=settings.slack_allow_insecure)
    timeout = settings.request_timeout_seconds
    return Workspace(settings.slack_bot_token, settings.slack_api_url, timeout=timeout, locate=locator(settings))


def locator(settings: NotifierSettings) -> Locate | None:
    """How a host is found: only at public addresses, unless a test may post anywhere."""
    return None if settings.slack_allow_insecure else public_addresses
