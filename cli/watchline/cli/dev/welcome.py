"""What a person needs to know once everything runs: how jobs and psql reach it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from watchline.cli.console import err, out
from watchline.cli.dev.stack import Stack
from watchline.cli.program import own_call
from watchline.schemas.kafka_client import read_secret


def describe_stack(stack: Stack) -> None:
    """Print the lines to paste into another terminal to stdout, and what they are for to stderr."""
    kafka = stack.servers.kafka.bootstrap_servers
    err.print(f"\nRunning; Kafka answers at {kafka}, logs are in {stack.logs}", markup=False)
    err.print("\nFor jobs, in another terminal:")
    out.print(f"export WATCHLINE_KAFKA_BOOTSTRAP_SERVERS={kafka}", markup=False)
    out.print(f"{own_call()} exec --pipeline hello -- echo 'it works'", markup=False)
    if stack.servers.commands:
        err.print("\nFor `watchline incidents`, `mute` and `doctor`, as well:")
        for name, value in stack.servers.commands.items():
            out.print(f"export {name}={shlex.quote(value)}", markup=False)
    err.print("\nFor SQL:")
    out.print(stack.servers.psql, markup=False)
    err.print(f"\nAlerts {alerts_go(os.environ)}; Ctrl-C stops everything\n")


def alerts_go(environment: Mapping[str, str]) -> str:
    """Where the notifier takes alerts that no route takes: to Slack when it has a channel or a webhook."""
    named = environment.get("WATCHLINE_SLACK_CHANNEL") or read_secret(environment, "WATCHLINE_SLACK_WEBHOOK_URL")
    return "go to Slack" if named else "appear here"
