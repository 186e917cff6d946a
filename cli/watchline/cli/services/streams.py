"""`watchline streams`."""

from __future__ import annotations

import click

from watchline.cli.services.lifecycle import begin
from watchline.cli.settings import read_kafka, read_settings
from watchline.streams import worker
from watchline.streams.settings import StreamsSettings


@click.command()
def streams() -> None:
    """Run a streams worker: it reads what jobs report and writes verdicts.

    Start as many as you like; Kafka divides the partitions among them. SIGTERM or
    Ctrl-C stops it cleanly. Logs go to stderr, as JSON when that is no terminal.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_KAFKA_SECURITY_PROTOCOL   PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
      WATCHLINE_KAFKA_SASL_*, _SSL_*      credentials, see docs/production.md
      WATCHLINE_TOPIC_PREFIX              default watchline
      WATCHLINE_LOG_EPOCH                 one more each time the topics are new
      WATCHLINE_LOG_LEVEL                 default INFO
      WATCHLINE_READY_FILE                touched when the worker is ready

    \b
    Example:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS=kafka:9092 watchline streams
    """
    settings = read_settings(StreamsSettings)
    begin(kafka=read_kafka())
    worker.run(settings)
