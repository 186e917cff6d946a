"""How a rebuild goes, on a terminal, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from watchline.consumers.rebuild.checksums import Comparison
from watchline.consumers.rebuild.reach import Reach

MIB = 1024**2


class Progressing:
    """A bar for what can be counted, a line for each step where there is no terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=console, transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def stage(self, title: str, total: int | None = None) -> None:
        """Another step begins; `total` is how many records it has."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(title, total=total)
        if not self._console.is_terminal:
            self._console.print(f"{title} …" if total is None else f"{title}: {total:,} records …")

    def folded(self, records: int) -> None:
        """So many more records are done."""
        if self._task is not None:
            self._bar.advance(self._task, records)


def table_of(compared: Sequence[Comparison]) -> Table:
    """Each view with its rows and checksum before and after."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("view", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("before", no_wrap=True)
    table.add_column("after", no_wrap=True)
    table.add_column("", no_wrap=True)
    for one in compared:
        rows = f"{one.before.rows:,}"
        if one.after.rows != one.before.rows:
            rows += f" → {one.after.rows:,}"
        verdict = Text("equal", "green") if one.equal else Text("differs", "bold red")
        table.add_row(one.view, rows, one.before.digest, one.after.digest, verdict)
    return table


def lines_of(reach: Reach, size: int) -> Iterator[str]:
    """What a rebuild would read and need, and what the log does not have."""
    for topic in sorted({one.topic for one in reach.stretches}):
        parts = [one for one in reach.stretches if one.topic == topic]
        yield f"{topic}: {sum(one.records for one in parts):,} records of {len(parts)} partitions"
    yield f"{reach.records:,} records to read; the new tables need about {size / MIB:,.0f} MiB beside the old ones"
    for gap in reach.gaps():
        yield f"{gap}: only --keep-older keeps their rows"
