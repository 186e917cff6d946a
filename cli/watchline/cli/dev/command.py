"""`watchline dev`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from watchline.cli.console import StartReport, err
from watchline.cli.dev.ports import require_free
from watchline.cli.dev.servers import EmbeddedServers
from watchline.cli.dev.stack import Stack
from watchline.cli.dev.stopping import stopped_by_signal
from watchline.cli.dev.welcome import describe_stack
from watchline.cli.logs import configure_command_logs

WATCH_SECONDS = 0.2


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".watchline"),
    show_default=True,
    help="Where Postgres and the logs are kept.",
)
@click.option("--kafka-port", type=click.IntRange(1, 65535), help="Default: a free one.")
@click.option("--postgres-port", type=click.IntRange(1, 65535), help="Default: a free one.")
def dev(data_dir: Path, kafka_port: int | None, postgres_port: int | None) -> None:
    """Run everything on this machine, in one terminal, without Docker.

    Starts a Kafka broker, Postgres, a streams worker, the sink and the notifier, and
    prints how jobs and psql reach them. Alerts appear here. Ctrl-C stops all. When one
    part dies, dev stops as a whole and shows the end of its log.

    Postgres is kept in the data directory. The broker keeps its log in memory: it is
    for trying, not for data that matters.

    \b
    Settings:
      WATCHLINE_SLACK_WEBHOOK_URL     alerts go to Slack instead of this terminal
      WATCHLINE_GROUP_WAIT_SECONDS    how long an alert waits, default 30

    \b
    Example:
      watchline dev --data-dir /var/tmp/watchline --kafka-port 9092
    """
    require_free(kafka_port, "--kafka-port")
    require_free(postgres_port, "--postgres-port")
    directory = data_dir.resolve()
    configure_command_logs()
    report = StartReport(err)
    servers = EmbeddedServers(directory, announce=report.announce, kafka_port=kafka_port, postgres_port=postgres_port)
    stack = Stack(directory, servers, announce=report.announce, show_alert=click.echo)
    with stopped_by_signal():
        try:
            with stack:
                report.done()
                describe_stack(stack)
                _watch(stack)
        except KeyboardInterrupt:
            report.abandon()
            err.print("stopped; Postgres is kept in " + str(directory), markup=False)
        except BaseException:
            report.abandon()
            raise


def _watch(stack: Stack) -> None:
    while True:
        stack.check()
        time.sleep(WATCH_SECONDS)
