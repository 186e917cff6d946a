"""What a person needs to know once everything runs: how jobs and psql reach it."""

from __future__ import annotations

from watchline.cli.console import err, out
from watchline.cli.dev.stack import Stack
from watchline.cli.program import own_call


def describe_stack(stack: Stack) -> None:
    """Print the lines to paste into another terminal to stdout, and what they are for to stderr."""
    kafka = stack.servers.kafka.bootstrap_servers
    err.print(f"\nRunning; Kafka answers at {kafka}, logs are in {stack.logs}", markup=False)
    err.print("\nFor jobs, in another terminal:")
    out.print(f"export WATCHLINE_KAFKA_BOOTSTRAP_SERVERS={kafka}", markup=False)
    out.print(f"{own_call()} exec --pipeline hello -- echo 'it works'", markup=False)
    err.print("\nFor SQL:")
    out.print(stack.servers.psql, markup=False)
    err.print("\nAlerts appear here; Ctrl-C stops everything\n")
