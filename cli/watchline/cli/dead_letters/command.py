"""`watchline dead-letters list|show|redrive|discard`."""

from __future__ import annotations

import io
import sys

import click

from watchline.cli.dead_letters.deciding import discard, redrive
from watchline.cli.dead_letters.looking import list_command, show
from watchline.cli.logs import configure_command_logs


@click.group("dead-letters")
def dead_letters() -> None:
    """See the records that could not be used; send them again or give them up.

    \b
    Settings:
      WATCHLINE_POSTGRES_DSN              where the letters are; also _DSN_FILE
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   for redrive: host:port[,host:port…]
      WATCHLINE_KAFKA_SASL_*, _SSL_*      for redrive: credentials
      WATCHLINE_TOPIC_PREFIX              for redrive: default watchline

    \b
    Example:
      watchline dead-letters list --since 24h
      watchline dead-letters redrive --all --reason unknown_event_type
    """
    configure_command_logs()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may hold what the terminal's encoding does not


for each in (list_command, show, redrive, discard):
    dead_letters.add_command(each)
