"""The rows of a report as a table, CSV, JSON or Markdown; what somebody's events say steers no terminal."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich.table import Table
from rich.text import Text

from watchline.cli.report.cells import LONGEST, json_value, plain, shown, style_of
from watchline.cli.report.questions import Question
from watchline.schemas.printing import printable

Row = Mapping[str, Any]
LEAST_WIDTH = 12  # of a name: on a narrow terminal the last columns are left out sooner than it gives way more
GIVING_WAY = frozenset({"pipeline", "source", "target", "metric"})


def table_of(
    question: Question, rows: Sequence[Row], more: Mapping[str, Sequence[Text]] | None = None, *, width: int = 80
) -> Table:
    """The columns that matter most, and `more` of them, a text a row; names give way so that 80 are enough.

    Where not even then all fit into `width`, the last ones are left out.
    """
    columns = {
        title: [Text(shown(name, row[name]), style_of(row[name])) for row in rows]
        for name, title in question.shown.items()
    } | {title: list(texts) for title, texts in (more or {}).items()}
    giving_way = {title for name, title in question.shown.items() if name in GIVING_WAY}
    numbers = {
        title
        for name, title in question.shown.items()
        if any(isinstance(row[name], int | float | Decimal) for row in rows)
    }
    fitting = titles_within(width, columns, giving_way)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for title in fitting:
        table.add_column(
            title, justify="right" if title in numbers else "left", no_wrap=title not in giving_way, overflow="ellipsis"
        )
    for cells in zip(*(columns[title] for title in fitting), strict=True):
        table.add_row(*cells)
    return table


def titles_within(width: int, columns: Mapping[str, Sequence[Text]], giving_way: Container[str]) -> list[str]:
    """The first columns that fit, one at least: each as wide as its widest cell, a name LEAST_WIDTH at most."""
    titles: list[str] = []
    used = 0
    for title, cells in columns.items():
        widest = max([len(title), *(cell.cell_len for cell in cells)])
        used += min(widest, LEAST_WIDTH) if title in giving_way else widest
        if titles and used > width:
            break
        titles.append(title)
        used += 1  # between two columns
    return titles


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
