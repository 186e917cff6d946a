"""`watchline feedback`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from watchline.cli.incidents.sending import Waiting, send, sending_options
from watchline.cli.incidents.stored import find_flagged_run, open_incidents
from watchline.cli.logs import configure_command_logs
from watchline.cli.settings import read_dsn


@click.command()
@click.argument("run")
@click.option(
    "--verdict", required=True, type=click.Choice(["expected", "false_positive", "new_normal"]), help="What it was."
)
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Of which metric; all without it.")
@sending_options
def feedback(
    run: str, *, verdict: str, metrics: tuple[str, ...], note: str | None, wait: bool, seconds: float, layout: str
) -> None:
    """Say what a run that was flagged really was, and teach the baselines.

    expected: odd, and meant to be; nothing is learnt from it. false_positive: it was
    normal; such runs are flagged less. new_normal: it will stay so; judge by it from
    now on. The first answer counts. It closes the anomaly incident of the run.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_POSTGRES_DSN              where the runs are; also _DSN_FILE

    \b
    Example:
      watchline feedback 0197a1b2 --metric inserts --verdict false_positive
    """
    configure_command_logs()
    fields = {"verdict": verdict, "metrics": list(metrics) or None, "note": note}
    asyncio.run(_send(read_dsn(), run, fields, Waiting(wait, seconds, layout)))


async def _send(dsn: str, prefix: str, fields: dict[str, Any], waiting: Waiting) -> None:
    async with open_incidents(dsn) as connection:
        run_id, pipeline = await find_flagged_run(connection, prefix)
        await send(connection, "feedback.given", pipeline, {"run_id": str(run_id), **fields}, waiting)
