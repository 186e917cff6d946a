"""Which log this is: the embedded broker forgets while Postgres stays, so every start is a new log."""

from __future__ import annotations

from pathlib import Path

from watchline.schemas.errors import Misconfigured


def next_epoch(path: Path) -> int:
    """Count one further in the file at `path` and return the new number, from 1."""
    epoch = _read(path) + 1
    new = path.with_suffix(".new")
    new.write_text(f"{epoch}\n")
    new.replace(path)
    return epoch


def _read(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        return int(path.read_text())
    except ValueError as error:
        raise Misconfigured(
            f"{path} does not hold a number",
            hint="write a number into it that is higher than all so far, or remove the data directory",
        ) from error
