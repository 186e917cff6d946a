"""The rows of a report as a table, CSV, JSON or Markdown; what somebody's events say steers no terminal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich.table import Table
from rich.text import Text

from watchline.cli.report.cells import LONGEST, json_value, plain, shown, style_of
from watchline.cli.report.questions import Question
from watchline.schemas.printing import printable

Row = Mapping[str, Any]
GIVING_WAY = frozenset({"pipeline", "source", "target", "metric"})


def table_of(question: Question, rows: Sequence[Row], more: Mapping[str, Sequence[Text]] | None = None) -> Table:
    """The columns that matter most, and `more` of them, a text a row; names give way so that 80 are enough."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column, title in question.shown.items():
        right = any(isinstance(row[column], int | float | Decimal) for row in rows)
        table.add_column(
            title, justify="right" if right else "left", no_wrap=column not in GIVING_WAY, overflow="ellipsis"
        )
    for title in more or {}:
        table.add_column(title, no_wrap=True)
    for row, *added in zip(rows, *(more or {}).values(), strict=True):
        table.add_row(*(Text(shown(name, row[name]), style_of(row[name])) for name in question.shown), *added)
    return table


def csv_lines(question: Question, rows: Sequence[Row]) -> Iterator[str]:
    """A line with the names, then one a row; RFC 4180."""
    yield _csv_line(question.columns)
    for row in rows:
        yield _csv_line([printable(plain(row[column]), LONGEST * 50) for column in question.columns])


def json_lines(question: Question, rows: Sequence[Row]) -> Iterator[str]:
    """One object a line, in ASCII: no terminal is steered by it."""
    for row in rows:
        fields = {column: json_value(row[column]) for column in question.columns}
        yield json.dumps(fields, separators=(",", ":")).replace("\x7f", "\\u007f")


def md_lines(question: Question, rows: Sequence[Row]) -> Iterator[str]:
    """A table for a page or a ticket, with the columns that a terminal shows."""
    yield _md_line(question.shown.values())
    yield _md_line("---" for _ in question.shown)
    for row in rows:
        yield _md_line(_escaped(shown(column, row[column])) for column in question.shown)


LINES: dict[str, Callable[[Question, Sequence[Row]], Iterator[str]]] = {
    "csv": csv_lines,
    "json": json_lines,
    "md": md_lines,
}


def _csv_line(values: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def _md_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
