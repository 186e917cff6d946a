"""`watchline notify`."""

from __future__ import annotations

import click

from watchline.cli.services.lifecycle import begin, mark_ready, run_until_stopped
from watchline.cli.settings import read_dsn, read_settings
from watchline.consumers.notifier import service
from watchline.consumers.notifier.settings import NotifierSettings
from watchline.consumers.watch.settings import WatchSettings


@click.command()
def notify() -> None:
    """Run the notifier: it sends what the sink put into the alert outbox.

    It also watches whether anything arrives at all, and says so when not.

    With a Slack webhook or bot alerts go there; without any they are printed to stdout.
    SIGTERM or Ctrl-C stops it cleanly; what is unsent waits in Postgres.

    \b
    Settings:
      WATCHLINE_POSTGRES_DSN              postgresql://user:password@host:5432/db
      WATCHLINE_SLACK_WEBHOOK_URL         https://hooks.slack.com/services/…
      WATCHLINE_SLACK_WEBHOOK_URL_FILE    a file that holds it
      WATCHLINE_SLACK_BOT_TOKEN           xoxb-…, in place of those; also …_FILE
      WATCHLINE_SLACK_CHANNEL             where the bot posts, best by its id
      WATCHLINE_DEAD_MAN_URL              pinged while all of Watchline works
      WATCHLINE_GROUP_WAIT_SECONDS        how long an alert waits, default 30
      WATCHLINE_LOG_LEVEL                 default INFO
      WATCHLINE_READY_FILE                touched when the notifier is ready

    \b
    Example:
      WATCHLINE_SLACK_WEBHOOK_URL=https://hooks.slack.com/… watchline notify
    """
    settings = read_settings(NotifierSettings.from_environment)
    watch = read_settings(WatchSettings.from_environment)
    begin(dsn=read_dsn())
    mark_ready()
    run_until_stopped(lambda stop: service.run(settings, stop, watch))
