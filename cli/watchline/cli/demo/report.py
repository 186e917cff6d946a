"""The findings as tables that read at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from watchline.cli.demo.findings import Finding, PipelineSummary

SHOWN = 15


def pipelines_table(summaries: Sequence[PipelineSummary]) -> Table:
    """The pipelines with most anomalies, and a line with the totals of all."""
    table = Table(box=None, pad_edge=False, title="Pipelines by anomalies", title_justify="left", show_footer=True)
    rest = len(summaries) - SHOWN
    table.add_column("pipeline", f"all {len(summaries)}", overflow="ellipsis", no_wrap=True, max_width=32)
    for name in ("runs", "failures", "anomalies"):
        table.add_column(name, f"{sum(getattr(each, name) for each in summaries):,}", justify="right")
    table.add_column("last watermark", no_wrap=True)
    for each in summaries[:SHOWN]:
        table.add_row(
            Text(each.pipeline),
            f"{each.runs:,}",
            f"{each.failures:,}",
            f"{each.anomalies:,}",
            short(each.watermark),
        )
    if rest > 0:
        table.add_row(f"and {rest} more", end_section=True)
    return table


def anomalies_table(findings: Sequence[Finding]) -> Table:
    """The strongest anomalies with what was expected instead."""
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title="Strongest anomalies",
        title_justify="left",
    )
    table.add_column("pipeline", overflow="ellipsis", no_wrap=True, max_width=19)
    table.add_column("run", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for name in ("value", "expected range", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in findings:
        table.add_row(
            Text(each.pipeline),
            f"{each.started_at:%y-%m-%d}",
            Text(each.metric),
            number(each.value),
            f"{number(each.lower)} to {number(each.upper)}",
            f"{each.score:+.1f}",
        )
    return table


def print_table(console: Console, table: Table) -> None:
    """Print with a blank line before it."""
    console.print()
    console.print(table, soft_wrap=False)


def number(value: float | None) -> str:
    """A number in at most six characters or so, with no more digits than matter."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 999_500:
        return f"{value / 1e6:,.1f}M"
    if size >= 99_950:
        return f"{value / 1e3:.0f}k"
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def short(watermark: str | None) -> str:
    """A watermark to the minute."""
    return watermark[:16].replace("T", " ") if watermark else "-"
