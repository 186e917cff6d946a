"""`watchline exec` and `watchline emit`: reporting from shell, cron and other languages."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import click

from watchline.schemas.errors import Misconfigured, Unavailable, WatchlineError

STARTS = "run.started"


class Seconds(click.FloatRange):
    """A number of seconds in a range; `nan` is in none, though no comparison says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or a usage error."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        return seconds


def read_pairs(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` texts as a mapping."""
    found = [pair.partition("=") for pair in pairs]
    if wrong := [key for key, equals, _ in found if not (key and equals)]:
        raise click.BadParameter(f"{wrong[0]!r} is not of the form key=value", param_hint=option)
    return {key: value for key, _, value in found}


@click.command(
    "exec",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="\b\nExample:\n  watchline exec --pipeline orders_daily --timeliness 30m -- ./load.sh --full",
)
@click.option("--pipeline", "name", required=True, metavar="NAME", help="The pipeline that this is a run of.")
@click.option("--type", "kind", metavar="TYPE", help="Its type.")
@click.option("--owner", metavar="WHO", help="Who hears of it.")
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
@click.option("--freshness", metavar="DURATION", help="How old the last change may be: 24h, 30m, 90.")
@click.option("--timeliness", metavar="DURATION", help="How long a run may take.")
@click.option("--schedule", metavar="CRON", help="When runs are expected: five fields, in UTC.")
@click.option("--attempt", type=click.IntRange(1), default=1, help="Which try this is.")
@click.option("--backfill", is_flag=True, help="The run loads old data and teaches no baseline.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label; may be repeated.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_command(
    name: str,
    kind: str | None,
    owner: str | None,
    tags: tuple[str, ...],
    freshness: str | None,
    timeliness: str | None,
    schedule: str | None,
    attempt: int,
    backfill: bool,
    labels: tuple[str, ...],
    command: tuple[str, ...],
) -> int:
    """Run a command and report it as a run of a pipeline.

    The command keeps its streams and exit code (128 + n when signal n killed it), gets the signals that we get, and
    runs to its end whether Kafka is there or not. WATCHLINE_RUN_ID tells it its run: what it reports becomes a child.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_OUTBOX_DIR                what Kafka did not take
      WATCHLINE_DISABLED                  1 runs the command and reports nothing
      and the others of docs/sdk.md
    """
    from watchline.sdk import Pipeline, Watchline  # noqa: PLC0415 - `--help` can do without
    from watchline.sdk.shell import run_command  # noqa: PLC0415 - as above

    pipeline = Pipeline(
        name=name, type=kind, owner=owner, tags=tags, freshness=freshness, timeliness=timeliness, schedule=schedule
    )
    client = Watchline(handle_sigterm=False)
    run = client.pipeline(pipeline).run(attempt=attempt, backfill=backfill, labels=read_pairs(labels, "--label"))
    return run_command(command, run)


@click.command(
    "emit",
    epilog="\b\nExamples:\n  watchline emit run.started --pipeline orders_daily\n  watchline emit - < event.json",
)
@click.argument("event_type")
@click.option("--pipeline", metavar="NAME", help="The pipeline.")
@click.option("--run-id", metavar="UUID", help="The run; a new one for run.started, printed on stdout.")
@click.option("--status", metavar="STATUS", help="Of run.ended: succeeded, failed, aborted.")
@click.option("--error", metavar="TEXT", help="Of run.ended: why it failed.")
@click.option("--inserts", type=int, help="Rows inserted.")
@click.option("--updates", type=int, help="Rows updated.")
@click.option("--deletes", type=int, help="Rows deleted.")
@click.option("--total-rows", type=int, help="Rows read or in the table.")
@click.option("--duration-ms", type=int, help="Of run.ended: how long it took.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME=NUMBER", help="A metric; may be repeated.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="A label; may be repeated.")
@click.option("--watermark", metavar="TEXT", help="Of watermark.advanced: how far the data is complete.")
@click.option("--kind", metavar="KIND", help="Of the watermark: timestamp, integer, text.")
@click.option("--dataset", metavar="NAME", help="Of the watermark: the dataset, else the pipeline's own.")
@click.option("--field", "fields", multiple=True, metavar="NAME=JSON", help="Any other field; may be repeated.")
@click.option("--timeout", type=Seconds(0.1, 3600), default=10.0, show_default=True, help="Seconds to wait.")
def emit_command(
    event_type: str,
    metrics: tuple[str, ...],
    labels: tuple[str, ...],
    fields: tuple[str, ...],
    timeout: float,
    **named: str | int | None,
) -> int:
    """Send one event, of EVENT_TYPE or (with -) the JSON object on stdin, and wait until Kafka has it.

    The event is checked first, as the streams will; a bad or undelivered one ends with one line and an exit code of 1.
    The id of the run, else of the event, goes to stdout.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_KAFKA_SECURITY_PROTOCOL   PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
      WATCHLINE_KAFKA_SASL_*, _SSL_*      credentials, see docs/production.md
      WATCHLINE_TOPIC_PREFIX              default watchline
      WATCHLINE_TRANSPORT                 console prints the event on stderr
    """
    if event_type == "-":
        event = read_event(sys.stdin.buffer.read())
    else:
        event = {"event_type": event_type, **named}
        event |= {"labels": read_pairs(labels, "--label") or None, "metrics": read_metrics(metrics) or None}
        event |= {key: read_json(value) for key, value in read_pairs(fields, "--field").items()}
    send_event(event, seconds=timeout)
    return 0


def read_event(text: bytes) -> dict[str, Any]:
    """The JSON object in `text`."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WatchlineError(f"stdin holds no JSON that can be read: {error}") from error
    if not isinstance(event, dict):
        raise WatchlineError("stdin holds JSON, but no object", hint="an event is one JSON object")
    return event


def read_metrics(pairs: tuple[str, ...]) -> dict[str, float]:
    """`name=number` texts as a mapping."""
    try:
        return {name: float(value) for name, value in read_pairs(pairs, "--metric").items()}
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--metric") from error


def read_json(text: str) -> Any:
    """JSON, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def send_event(event: dict[str, Any], *, seconds: float) -> None:
    """Check an event, send it, and print the id by which it is found again; an error says what is wrong with which."""
    from watchline.schemas import decode  # noqa: PLC0415 - `--help` can do without
    from watchline.sdk.client import read_environment  # noqa: PLC0415 - as above
    from watchline.sdk.events import complete_event, pack  # noqa: PLC0415 - as above
    from watchline.sdk.identity import make_id  # noqa: PLC0415 - as above

    settings = read_environment()
    try:
        complete = complete_event(event)
        if complete["event_type"] == STARTS:
            complete.setdefault("run_id", str(make_id()))
        message = pack(complete, settings.topics)
    except (ValueError, RecursionError) as error:
        raise WatchlineError(f"the event can't be sent: {error}", hint="see `watchline emit --help`") from error
    decoded = decode(message.value, now=datetime.now(UTC))
    if decoded.flags:
        click.echo(f"note: readers will repair it: {', '.join(decoded.flags)}", err=True)
    if settings.disabled:
        raise Misconfigured("WATCHLINE_DISABLED is set, so nothing is sent")
    if settings.transport == "console":
        click.echo(message.value.decode(), err=True)
    else:
        asyncio.run(deliver(settings, message, seconds))
    click.echo(complete.get("run_id") or complete["event_id"])


async def deliver(settings: Any, message: Any, seconds: float) -> None:
    """Send one message and wait until it is acknowledged; Unavailable says which address did not."""
    from watchline.sdk.kafka import KafkaCarrier  # noqa: PLC0415 - as above

    carrier = KafkaCarrier(settings)
    outcomes: dict[Any, Exception | None] = {}
    try:
        async with asyncio.timeout(seconds):
            await carrier.open()
            await carrier.send([message], outcomes.__setitem__)
    except TimeoutError:
        outcomes[message] = TimeoutError(f"no answer within {seconds:g} s")
    except Exception as error:  # noqa: BLE001 - whatever kept it back is told, with its class
        outcomes[message] = error
    finally:
        await carrier.close()
    failure = outcomes[message]
    if failure is not None:
        raise Unavailable(
            f"the event was not delivered to {settings.address}: {failure}",
            hint="check WATCHLINE_KAFKA_BOOTSTRAP_SERVERS and that the topics exist: watchline topics check",
        )
