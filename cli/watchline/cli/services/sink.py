"""`watchline sink`."""

from __future__ import annotations

import click

from watchline.cli.services.lifecycle import begin, mark_ready, run_until_stopped
from watchline.cli.settings import read_dsn, read_kafka, read_settings
from watchline.consumers.retention.settings import RetentionSettings
from watchline.consumers.sink import service
from watchline.consumers.sink.settings import SinkSettings


@click.command()
def sink() -> None:
    """Run the sink: it stores runs, anomalies and incidents in Postgres.

    Every row is stored once, however often the sink is stopped or killed. Start a
    second one and they share the partitions. SIGTERM or Ctrl-C stops it cleanly.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_POSTGRES_DSN              postgresql://user:password@host:5432/db
      WATCHLINE_POSTGRES_DSN_FILE         a file that holds it
      WATCHLINE_TOPIC_PREFIX              default watchline
      WATCHLINE_ALERT_MAX_AGE_SECONDS     older causes are stored and not sent
      WATCHLINE_PRUNE                     0: never delete what has grown old
      WATCHLINE_PRUNE_HOUR                when it does, default 3, UTC
      WATCHLINE_LOG_LEVEL                 default INFO
      WATCHLINE_READY_FILE                touched when the sink is ready

    \b
    Example:
      WATCHLINE_POSTGRES_DSN=postgresql://… watchline sink
    """
    settings = read_settings(SinkSettings.from_environment)
    retention = read_settings(RetentionSettings)
    begin(kafka=read_kafka(), dsn=read_dsn())
    mark_ready()
    run_until_stopped(lambda stop: service.run(settings, stop, retention))
