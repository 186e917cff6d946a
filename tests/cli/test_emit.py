"""`watchline emit` with what is no event."""

from __future__ import annotations

import io
import sys

import pytest

from watchline.cli.main import run


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"event_type": 5}'])
def test_what_is_no_event_is_one_clear_line(
    text: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))

    code = run(["emit", "-"])

    shown = capsys.readouterr()
    assert (code, shown.out) == (1, "")
    assert shown.err.startswith(("error: stdin holds ", "error: the event can't be sent: "))
    assert "defect" not in shown.err


@pytest.mark.parametrize("seconds", ["nan", "-nan", "inf", "0", "-1", "soon"])
def test_a_timeout_that_would_never_come_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["emit", "run.started", "--pipeline", "orders"], ["incidents", "ack", "3e954c53"]):
        code = run([*command, f"--timeout={seconds}"])

        shown = capsys.readouterr()
        assert (code, shown.out) == (2, "")
        assert "'--timeout'" in shown.err


@pytest.mark.parametrize("command", ["exec", "emit", "streams", "sink", "notify", "migrate", "topics", "dev", "demo"])
def test_the_help_of_a_command_names_its_settings_within_eighty_columns(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run([command, "--help"])

    shown = capsys.readouterr().out
    assert code == 0
    assert "Settings" in shown
    assert "WATCHLINE_" in shown
    assert max(map(len, shown.splitlines())) <= 80
