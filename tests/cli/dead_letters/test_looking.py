"""`watchline dead-letters list` and `show`: everything is seen, and nothing steers the terminal."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from letters.letters import Commands, Store, of_bytes
from sinking.records import NOON, after
from stack.contents import rows
from watchline.cli.dead_letters.choice import read_since
from watchline.cli.main import run
from watchline.schemas.errors import Misconfigured

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\x9b31m [red]markup[/red] \x7f"
STEERING = ("\x1b", "\x07", "\u202e", "\x9b", "\x7f")


def ids_in(out: str) -> list[int]:
    return [json.loads(line)["dead_letter_id"] for line in out.splitlines()]


def test_the_newest_comes_first_and_the_reasons_are_counted(call: Commands, store: Store) -> None:
    first, second, third = store.put_now(of_bytes(1), of_bytes(2, reason="too_large"), of_bytes(3))

    result = call("list", "--format", "json")
    shortened = call("list", "--format", "json", "--limit", "1")

    assert ids_in(result.out) == [third, second, first]
    assert ids_in(shortened.out) == [third]
    assert result.err == "3 dead letters: 2 invalid_json, 1 too_large\n"
    assert shortened.err == "3 dead letters, 1 shown: 2 invalid_json, 1 too_large\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--reason", "invalid_json"], [1]),
        (["--reason", "refused_by_database"], [2]),
        (["--reason", "refused"], []),
        (["--topic", "t.state"], [2]),
        (["--pipeline", "stock"], [3]),
        (["--since", "2026-11-30T13:00"], [3]),
        (["--since", "2026-11-30T13:00+05:00"], [3, 2, 1]),
        (["--status", "discarded"], []),
        (["--status", "all"], [3, 2, 1]),
    ],
)
def test_a_filter_lets_through_what_it_names(
    call: Commands, store: Store, options: list[str], expected: list[int]
) -> None:
    store.put_now(
        of_bytes(1),
        of_bytes(2, reason="refused_by_database:23514:runs_inserts_check", source_topic="t.state"),
        of_bytes(3, reason="too_large", key=b"stock", failed_at=after(hours=2)),
    )

    result = call("list", "--format", "json", *options)

    assert [json.loads(line)["source_offset"] for line in result.out.splitlines()] == sorted(expected, reverse=True)


def test_since_is_a_duration_before_now_or_a_time() -> None:
    now = NOON + timedelta(days=1)

    assert read_since("24h", now=now) == NOON
    assert read_since("1d", now=now) == NOON
    assert read_since("2026-11-30", now=now) == datetime(2026, 11, 30, tzinfo=UTC)
    for wrong in ("yesterday", "99999999999999w", "", "-3h"):
        with pytest.raises(Misconfigured, match="--since"):
            read_since(wrong, now=now)


def test_a_table_fits_80_columns_and_no_text_steers_the_terminal(call: Commands, store: Store) -> None:
    store.put_now(
        of_bytes(reason=HOSTILE, detail=HOSTILE, source_topic=HOSTILE * 3, key=HOSTILE.encode()),
        of_bytes(8, reason="r" * 300, key=b"\xff" * 400),
    )
    call("discard", "1", "--because", HOSTILE, "--yes")

    result = call("list", "--status", "all")

    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 80
    assert not any(character in result.out + result.err for character in STEERING)
    assert "\\x1b" in result.out
    assert " discarded " in result.out
    assert not any(character in call("show", "1").out for character in STEERING)
    assert "markup[/red]" in "".join(result.out.split())


def test_a_line_of_json_is_ascii_and_gives_the_text_back(call: Commands, store: Store) -> None:
    store.put_now(
        of_bytes(reason=HOSTILE, detail="a\nb\u2028c", key="naïve\n".encode()), of_bytes(8, value=None, key=None)
    )

    result = call("list", "--format", "json")

    null, hostile = (json.loads(line) for line in result.out.splitlines())
    assert result.out.isascii()
    assert not any(character in result.out for character in STEERING)
    assert (hostile["reason"], hostile["detail"], hostile["key"]) == (HOSTILE, "a\nb\u2028c", "naïve\n")
    assert (null["key"], null["value_bytes"], hostile["value_bytes"]) == (None, None, 1)


def test_show_tells_everything_and_no_line_of_a_value_passes_for_ours(call: Commands, store: Store) -> None:
    value = f'{{"a": 1}}\nstatus        redriven {HOSTILE}'.encode()
    (letter_id,) = store.put_now(
        of_bytes(value=value, detail=HOSTILE, headers=(("trace\x1b", "AP8="), ("empty", None)))
    )

    result = call("show", str(letter_id))

    lines = result.out.splitlines()
    assert result.code == 0
    assert not any(character in result.out for character in STEERING)
    assert [line for line in lines if line.startswith("status")] == ["status        open"]
    assert "place         watchline.runs/1@7, log epoch 0" in lines
    assert "refused       2026-11-30 12:00:00 UTC" in lines
    assert "key           orders" in lines
    assert "header        trace\\x1b = 0x00ff" in lines
    assert "header        empty = null" in lines
    assert f"value         {len(value)} bytes, UTF-8" in lines
    assert '  {"a": 1}' in lines


def test_bytes_that_are_no_text_are_dumped_and_cut_unless_all_are_wanted(call: Commands, store: Store) -> None:
    value = b"\xff\x00AB" * 2000
    (letter_id,) = store.put_now(of_bytes(value=value))

    cut = call("show", str(letter_id)).out
    full = call("show", str(letter_id), "--full").out

    assert "00000000  ff 00 41 42 ff 00 41 42" in cut
    assert "..AB..AB..AB..AB" in cut
    assert "00000ff0  " in cut
    assert "00001000  " not in cut
    assert "… 3,904 more bytes" in cut
    assert "00001f30  " in full
    assert "more bytes" not in full


def test_a_long_text_is_cut_between_characters(call: Commands, store: Store) -> None:
    value = b"x" + "é".encode() * 3000
    (letter_id,) = store.put_now(of_bytes(value=value))

    cut = call("show", str(letter_id)).out

    assert "bytes, UTF-8" in cut
    assert f"  x{'é' * 2047}\n" in cut


def test_raw_writes_the_bytes_and_nothing_else(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", store.dsn)
    value = bytes(range(256)) * 40
    letter_id, null = store.put_now(of_bytes(value=value), of_bytes(8, value=None))
    capsysbinary.readouterr()

    assert run(["dead-letters", "show", str(letter_id), "--raw"]) == 0
    assert capsysbinary.readouterr().out == value
    assert run(["dead-letters", "show", str(null), "--raw"]) == 1
    assert capsysbinary.readouterr().out == b""


def test_an_id_that_does_not_exist_is_named(call: Commands) -> None:
    result = call("show", "41")

    assert result.code == 2
    assert result.err.splitlines() == [
        "error: no dead letter 41",
        "hint: `watchline dead-letters list` shows the ids",
    ]


def test_nothing_to_list_is_said_and_is_no_error(call: Commands) -> None:
    result = call("list")

    assert (result.code, result.out, result.err) == (0, "", "no dead letters\n")


def test_a_database_of_the_version_before_asks_for_migrate(call: Commands, database: str) -> None:
    asyncio.run(rows(database, "drop view reporting.dead_letters"))
    asyncio.run(rows(database, "alter table dead_letters drop column status"))

    result = call("list")

    assert result.code == 2
    assert "hint: run `watchline migrate`" in result.err
