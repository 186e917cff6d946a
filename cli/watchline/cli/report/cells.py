"""One value of a report as a person reads it, and as a program does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

from watchline.consumers.notifier.wording import duration, number
from watchline.schemas.printing import printable

LONGEST = 200
RAISED = {"fail", "failed", "lost", "stale", "missed"}
Value = object


def shown(column: str, value: Value) -> str:
    """For a terminal: the unit follows from the end of the column's name; nothing is a dash."""
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"
    if isinstance(value, date):
        return f"{value:%Y-%m}" if column == "month" else f"{value:%Y-%m-%d}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | Decimal):
        return measured(column, float(value))
    return printable(plain(value), LONGEST)


def measured(column: str, value: float) -> str:
    """A number by what its column counts: seconds, a share, or anything else."""
    if column.endswith("_seconds"):
        return duration(value)
    if column.endswith("_share"):
        return f"{100 * value:.1f} %"
    return f"{value:+.1f}" if column == "score" else number(value)


def plain(value: Value) -> str:
    """For a program: times in ISO 8601, an empty text for nothing."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        digits = f"{value:f}"  # never as 0E-20, which a spreadsheet takes for text
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " > ".join(map(str, value))
    return str(value)


def json_value(value: Value) -> Value:
    """For JSON: numbers stay numbers, the rest is text."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date | UUID):
        return plain(value)
    return value


def style_of(value: Value) -> str:
    """What must not be overlooked is red."""
    return "bold red" if value in RAISED else ""
