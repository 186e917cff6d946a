"""The question before something is done that can't be undone."""

from __future__ import annotations

import click

from watchline.schemas.errors import WatchlineError


def confirm(question: str, *, yes: bool) -> None:
    """Return when the operator agrees; WatchlineError when not, or when nobody is there to ask."""
    if yes:
        return
    click.echo(f"{question} [y/N] ", nl=False, err=True)  # click.confirm would write to stdout, which is for data
    try:
        answer = input()
    except EOFError as error:
        click.echo(err=True)
        raise WatchlineError("nobody is there to answer, nothing was done", hint="--yes answers for you") from error
    if answer.strip().lower() not in {"y", "yes"}:
        raise WatchlineError("not agreed to, nothing was done", hint="--dry-run shows what would be done")
