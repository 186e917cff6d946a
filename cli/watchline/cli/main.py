"""The `watchline` program: finds the command, imports only that, and turns every error into one clear line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from watchline.cli.commands import LazyGroup
from watchline.cli.failures import report_failure


@dataclass(slots=True)
class Session:
    """What the options before the command decided."""

    debug: bool = False


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Try it: `watchline demo` replays 28,191 real CI runs and prints what was found",
)
@click.version_option(package_name="watchline", prog_name="watchline", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, envvar="WATCHLINE_DEBUG", help="Show tracebacks of errors.")
@click.pass_obj
def cli(session: Session, *, debug: bool) -> None:
    """Watch data pipelines: which ran, ran late, ran wrong, or loaded stale data.

    Jobs report to Kafka, Faust judges, Postgres keeps, Slack hears. Settings come from
    WATCHLINE_* environment variables; every command's help names the ones it reads.
    """
    session.debug = debug


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 2 for wrong settings or usage, 1 for other failures."""
    session = Session()
    try:
        code = cli.main(arguments, prog_name="watchline", standalone_mode=False, obj=session)
    except Exception as error:  # noqa: BLE001 - the last line of defence: whatever it is, say it in one line
        return report_failure(error, debug=session.debug)
    except KeyboardInterrupt:
        return 130
    return code if isinstance(code, int) else 0


def main() -> None:
    """The entry point of the `watchline` script."""
    sys.exit(run())
