"""`watchline mute` and `watchline unmute`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import click

from watchline.cli.incidents.known import require_pipeline
from watchline.cli.incidents.sending import Waiting, read_until, send, sending_options
from watchline.cli.incidents.stored import open_incidents
from watchline.cli.logs import configure_command_logs
from watchline.cli.settings import read_dsn
from watchline.schemas.declaration import Check
from watchline.schemas.errors import Misconfigured

check_option = click.option(
    "--check", type=click.Choice(get_args(Check)), default="all", show_default=True, help="Which check."
)
force_option = click.option("--force", is_flag=True, help="Even a pipeline that nobody has heard of.")


@click.command()
@click.argument("pipeline")
@check_option
@force_option
@click.option("--for", "duration", required=True, metavar="DURATION", help="How long: 30m, 2h, 3d.")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept with the mute.")
@sending_options
def mute(
    pipeline: str,
    *,
    check: str,
    force: bool,
    duration: str,
    reason: str,
    note: str | None,
    wait: bool,
    seconds: float,
    layout: str,
) -> None:
    """Open no incidents of a pipeline for a while.

    What happens is recorded; what is open ends as paused. A mute of one check
    replaces the one before it. What a declaration mutes is not touched.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_KAFKA_SASL_*, _SSL_*      credentials
      WATCHLINE_POSTGRES_DSN              where the sink confirms; also _DSN_FILE
      WATCHLINE_TOPIC_PREFIX              default watchline

    \b
    Example:
      watchline mute orders_daily --for 2h --reason "moving the database"
    """
    if not reason.strip():
        raise Misconfigured("--reason is empty", hint="say why in a few words: whoever wonders later reads them")
    until = read_until(duration, now=datetime.now(UTC))
    fields = {"check": check, "until": until, "reason": reason, "note": note}
    _order("pipeline.muted", pipeline, fields, Waiting(wait, seconds, layout), force=force)


@click.command()
@click.argument("pipeline")
@check_option
@force_option
@sending_options
def unmute(
    pipeline: str, *, check: str, force: bool, note: str | None, wait: bool, seconds: float, layout: str
) -> None:
    """End mutes that were given by command; all of them unless --check says which.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_POSTGRES_DSN              where the sink confirms; also _DSN_FILE

    \b
    Example:
      watchline unmute orders_daily
    """
    _order("pipeline.unmuted", pipeline, {"check": check, "note": note}, Waiting(wait, seconds, layout), force=force)


def _order(event_type: str, pipeline: str, fields: Mapping[str, Any], waiting: Waiting, *, force: bool) -> None:
    configure_command_logs()
    asyncio.run(_send(read_dsn(), event_type, pipeline, fields, waiting, force=force))


async def _send(
    dsn: str, event_type: str, pipeline: str, fields: Mapping[str, Any], waiting: Waiting, *, force: bool
) -> None:
    async with open_incidents(dsn) as connection:
        if not force:
            await require_pipeline(connection, pipeline)
        await send(connection, event_type, pipeline, fields, waiting)
