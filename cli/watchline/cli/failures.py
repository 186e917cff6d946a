"""How an error reaches the operator: a line with what and why, a hint on its own line, an exit code.

Its text may quote what somebody sent, so what could steer a terminal is escaped.
"""

from __future__ import annotations

import traceback

import click

from watchline.schemas.errors import Misconfigured, WatchlineError
from watchline.schemas.printing import printable, printable_lines

LONGEST = 10_000
EXTRAS_HINT = "pip install 'watchline[server]' for the services, 'watchline[server,embedded]' for dev and demo"


def report_failure(error: Exception, *, debug: bool) -> int:
    """Print `error` to stderr and return the exit code it deserves."""
    if debug and not isinstance(error, click.ClickException):
        say("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, click.Abort):
        return 130
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    known = explain(error)
    say_error(str(known), hint=known.hint)
    return 2 if isinstance(known, Misconfigured) else 1


def explain(error: Exception) -> WatchlineError:
    """`error` itself when it was raised on purpose, else the nearest thing that can be said about it."""
    if isinstance(error, WatchlineError):
        return error
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("watchline"):
        return Misconfigured(f"this command needs the package {error.name}, which is not installed", hint=EXTRAS_HINT)
    return WatchlineError(
        f"{type(error).__name__}: {error}",
        hint="this is a defect of Watchline; run `watchline --debug …` for the traceback",
    )


def say_error(message: str, *, hint: str | None = None) -> None:
    """Print `error: …` and `hint: …` to stderr, in colour on a terminal only."""
    click.echo(click.style("error", fg="red", bold=True) + f": {printable(message, LONGEST)}", err=True)
    if hint:
        say_hint(hint)


def say_hint(hint: str) -> None:
    """Print `hint: …` to stderr."""
    click.echo(click.style("hint", fg="cyan", bold=True) + f": {printable_lines(hint)}", err=True)


def say(message: str) -> None:
    """Tell the operator something: stderr, because stdout is for data."""
    click.echo(printable_lines(message), err=True)
