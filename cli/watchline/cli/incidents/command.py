"""`watchline incidents list|show|ack|resolve|snooze`."""

from __future__ import annotations

import io
import sys

import click

from watchline.cli.incidents.deciding import ack, resolve, snooze
from watchline.cli.incidents.looking import list_command, show
from watchline.cli.logs import configure_command_logs


@click.group("incidents")
def incidents() -> None:
    """See what is wrong; take care of it, close it, or hear nothing for a while.

    What is decided travels as an event through Kafka, and the command waits until
    the sink has it.

    \b
    Settings:
      WATCHLINE_POSTGRES_DSN              where the incidents are; also _DSN_FILE
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   to decide: host:port[,host:port…]
      WATCHLINE_KAFKA_SASL_*, _SSL_*      to decide: credentials
      WATCHLINE_TOPIC_PREFIX              to decide: default watchline

    \b
    Example:
      watchline incidents list
      watchline incidents ack 3e954c53 --note "on it"
    """
    configure_command_logs()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may hold what the terminal's encoding does not


for each in (list_command, show, ack, resolve, snooze):
    incidents.add_command(each)
