"""What events say reaches people as text: it mentions nobody in Slack, forges no line of a log, steers no terminal."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
import structlog

from security.hostile import STEERING, injections, raw_in
from sinking import records
from sinking.tables import Sinking
from slack.incidents import incident, message
from watchline.cli.failures import report_failure, say, say_hint
from watchline.cli.logs import configure_command_logs, configure_service_logs
from watchline.cli.main import run
from watchline.consumers.notifier.blocks import fallback, render
from watchline.consumers.notifier.terminal import TerminalChannel
from watchline.schemas.errors import Misconfigured
from watchline.schemas.records import IncidentFact

HOSTILE = STEERING | injections()
SECRET = "canary-in-a-variable"
MARKUP = re.compile(r"[<>]|&(?!amp;|lt;|gt;)")


def hostile_incident(text: str, **changes: Any) -> Any:
    """An incident that says `text` wherever an event can make it say something."""
    fact = IncidentFact(name=text, value=text, note=text, unit="rows")
    return incident(pipeline=text, title=text, owner=text, facts=(fact,), subject=text, **changes)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_of_an_event_is_markup_in_slack(text: str) -> None:
    told = message(hostile_incident(text), hostile_incident(text, severity="warn"))

    for payload in (render(message(hostile_incident(text))), render(told), fallback(told)):
        assert payload["mrkdwn"] is False
        assert not {"link_names", "parse", "username", "channel"} & payload.keys()
        for kind, shown in elements(payload):
            assert kind == "plain_text" or re.fullmatch(r"\*\w+\*", shown), shown
            assert not MARKUP.search(shown), shown
            assert not raw_in(shown)
        assert not MARKUP.search(payload["text"])
        assert not raw_in(payload["text"])


def elements(payload: Any) -> Iterator[tuple[str, str]]:
    """Kind and text of every text element."""
    for part in payload.values() if isinstance(payload, dict) else payload if isinstance(payload, list) else ():
        yield from elements(part)
    if isinstance(payload, dict) and payload.get("type") in ("plain_text", "mrkdwn"):
        yield payload["type"], payload["text"]


class Screen(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def logged(text: str, monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    """What a service prints that logs `text` as a fact, in a library's message, and as an exception."""
    screen = Screen(terminal=terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    configure_service_logs()
    log = structlog.get_logger(f"test.{uuid4()}")
    password = SECRET
    log.warning("record.bad", key=text, other=[text], raw=text.encode())
    logging.getLogger("faust").warning("a library says %s", text)
    try:
        raise ValueError(text + password[:0])
    except ValueError:
        log.exception("service.failed")
    return screen.getvalue()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_forges_a_line_of_a_log(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = logged(text, monkeypatch, terminal=False)

    lines = printed.splitlines()
    assert [json.loads(line)["event"].split()[0] for line in lines] == ["record.bad", "a", "service.failed"]
    assert raw_in(printed) <= {"\x7f"}  # the only one that JSON keeps, and harmless
    assert json.loads(lines[0])["key"] == text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_steers_a_terminal_that_shows_a_log(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = re.sub(r"\x1b\[[0-9;]*m", "", logged(text, monkeypatch, terminal=True))  # the colours are ours

    assert not raw_in(printed)
    assert "forged" not in [line.split()[-1] for line in printed.splitlines() if line.startswith("2026-11-30 [error]")]


def test_no_variable_of_a_traceback_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in (False, True):
        printed = logged("failed", monkeypatch, terminal=terminal)

        assert "ValueError: failed" in printed
        assert SECRET not in printed


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_steers_the_terminal_of_a_command(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(text)
    say_hint(text)
    report_failure(Misconfigured(text, hint=text), debug=True)
    report_failure(RuntimeError(text), debug=True)

    shown = capsys.readouterr().err

    assert not raw_in(shown)


def test_no_error_looks_like_two(capsys: pytest.CaptureFixture[str]) -> None:
    report_failure(Misconfigured("wrong\nerror: forged"), debug=False)

    assert capsys.readouterr().err == "error: wrong error: forged\n"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
async def test_no_text_steers_the_terminal_that_alerts_are_printed_on(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await TerminalChannel().send(message(hostile_incident(text)))

    assert not raw_in(capsys.readouterr().out)


async def test_dead_letters_are_shown_as_text(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = await asyncpg.connect(database)
    sinking = Sinking(database, connection)
    await sinking.join()
    await sinking.store(*(hostile_letter(number, text) for number, text in enumerate(HOSTILE.values())))
    await sinking.writer.close()
    ids = [row["dead_letter_id"] for row in await connection.fetch("select dead_letter_id from dead_letters")]
    await connection.close()
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", database)
    configure_command_logs()

    commands = [["list", "--limit", "1000"], ["list", "--limit", "1000", "--format", "json"]]
    for command in [*commands, *(["show", str(number)] for number in ids)]:
        await beside(["dead-letters", *command])
        captured = capsys.readouterr()
        assert captured.out
        assert not raw_in(captured.out + captured.err), command


def hostile_letter(number: int, text: str) -> Any:
    raw = base64.b64encode(text.encode()).decode()
    return records.letter(
        number, reason=text, detail=text, source_topic=text or "x", key=raw, value=raw, headers=((text, raw),)
    )


async def beside(arguments: list[str]) -> None:
    """Run a command, which has a loop of its own, in another thread."""
    assert await asyncio.to_thread(run, arguments) == 0
