"""Letters on a terminal and as JSON: what somebody's bytes say must not steer the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from rich.table import Table
from rich.text import Text

from watchline.cli.dead_letters.letters import Letter, Summary
from watchline.consumers.notifier.wording import utc
from watchline.schemas.printing import printable

CUT_BYTES = 4096
HEX_WIDTH = 16
REASONS = 6
STYLES = {"open": "yellow", "redriven": "green", "discarded": "dim"}


def table_of(summaries: Sequence[Summary]) -> Table:
    """A line or two a letter, within 80 columns; the status where not all are open."""
    closed = any(one.status != "open" for one in summaries)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", no_wrap=True, justify="right")
    table.add_column("refused, UTC", no_wrap=True)
    if closed:
        table.add_column("status", no_wrap=True)
    table.add_column("reason", overflow="fold", max_width=26)
    table.add_column("place, key", overflow="fold")
    for one in summaries:
        place = Text(f"{printable(one.place, 200)}\n{printable(text_or_hex(one.key), 60)}")
        table.add_row(
            str(one.dead_letter_id),
            f"{one.failed_at.astimezone(UTC):%Y-%m-%d %H:%M}",
            *([Text(one.status, STYLES[one.status])] if closed else []),
            Text(printable(one.reason, 100)),
            place,
        )
    return table


def json_of(summary: Summary) -> str:
    """One line of ASCII: no terminal is steered by it."""
    fields = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in fields_of(summary)}
    return json.dumps(fields, separators=(",", ":")).replace("\x7f", "\\u007f")


def fields_of(summary: Summary) -> Iterator[tuple[str, object]]:
    for name, value in asdict(summary).items():
        yield name, text_or_hex(value) if isinstance(value, bytes) else value


def count_line(counts: Mapping[str, int], *, shown: int) -> str:
    """How many there are, and of what: `12 dead letters, 10 shown: 7 invalid_json, 5 too_large`."""
    total = sum(counts.values())
    if not total:
        return "no dead letters"
    parts = [f"{number:,} {printable(reason, 80)}" for reason, number in list(counts.items())[:REASONS]]
    if len(counts) > REASONS:
        parts.append(f"{len(counts) - REASONS} more reasons")
    head = f"{total:,} dead letter{'s' if total > 1 else ''}"
    return f"{head}{f', {shown:,} shown' if shown < total else ''}: {', '.join(parts)}"


def sheet_of(letter: Letter, *, returned: Sequence[int], full: bool) -> Iterator[str]:
    """Everything about a letter, a line at a time."""
    for name, value in facts_of(letter, returned):
        yield f"{name:<14}{value}"
    for name, raw in letter.headers:
        yield f"{'header':<14}{printable(name, 200)} = {printable(text_or_hex(raw), 500)}"
    if letter.value is None:
        yield f"{'value':<14}a Kafka null"
    else:
        yield from body_of(letter.value, full=full)


def facts_of(letter: Letter, returned: Sequence[int]) -> Iterator[tuple[str, str]]:
    yield "dead letter", str(letter.dead_letter_id)
    yield "status", outcome_of(letter)
    if returned:
        yield "came back as", ", ".join(str(one) for one in returned)
    if letter.redriven_from is not None:
        yield "redriven from", str(letter.redriven_from)
    yield "reason", printable(letter.reason, 1000)
    yield "detail", printable(letter.detail, 4000)
    if letter.sqlstate:
        yield "sqlstate", printable(letter.sqlstate, 20)
    yield "place", f"{printable(letter.place, 1000)}, log epoch {letter.log_epoch}"
    yield "record time", utc(letter.source_timestamp) if letter.source_timestamp else "unknown"
    yield "refused", utc(letter.failed_at)
    yield "stored", utc(letter.stored_at)
    yield "key", printable(text_or_hex(letter.key), 1000)


def outcome_of(letter: Summary) -> str:
    """The status, with who decided, when and why."""
    if letter.status == "redriven" and letter.redriven_at:
        times = "once" if letter.redriven_count == 1 else f"{letter.redriven_count} times"
        return f"redriven {times}, last {utc(letter.redriven_at)} by {printable(letter.redriven_by or '', 200)}"
    if letter.status == "discarded" and letter.discarded_at:
        by = printable(letter.discarded_by or "", 200)
        return f"discarded {utc(letter.discarded_at)} by {by}: {printable(letter.discard_reason or '', 1000)}"
    return letter.status


def body_of(value: bytes, *, full: bool) -> Iterator[str]:
    """The value as text where it is UTF-8, else as a hex dump; cut unless `full`.

    Its lines are set in, so that none can pass for one of ours.
    """
    text = text_of(value)
    yield f"{'value':<14}{len(value):,} bytes{', UTF-8' if text is not None else ''}"
    kept = value if full else value[:CUT_BYTES]
    lines = hex_lines(kept) if text is None else kept.decode("utf-8", "ignore").split("\n")
    yield from (f"  {printable(line, 6 * len(line) + 1)}" for line in lines)
    if len(kept) < len(value):
        yield f"  … {len(value) - len(kept):,} more bytes: --full shows them, --raw writes all as they are"


def hex_lines(raw: bytes) -> Iterator[str]:
    """Offset, 16 bytes, and those of them that are ASCII."""
    for start in range(0, len(raw), HEX_WIDTH):
        row = raw[start : start + HEX_WIDTH]
        letters = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        yield f"{start:08x}  {row.hex(' '):<{3 * HEX_WIDTH}} {letters}"


def text_of(raw: bytes) -> str | None:
    """The text, None when it is no UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def text_or_hex(raw: bytes | None) -> str:
    """In one line: the text, `0x…` when it is none, `null` for a Kafka null."""
    if raw is None:
        return "null"
    text = text_of(raw)
    return f"0x{raw.hex()}" if text is None else text
