"""Secrets from files."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from watchline.schemas.errors import Misconfigured
from watchline.schemas.kafka_client import read_secret


def test_a_secret_file_is_read_as_utf_8_without_its_line_end(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes("pässword\n".encode())

    assert read_secret({"PASSWORD_FILE": str(tmp_path / "password")}, "PASSWORD") == "pässword"


def test_a_secret_file_that_is_no_text_is_named_and_nothing_of_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"canary\xff")

    with pytest.raises(Misconfigured) as caught:
        read_secret({"PASSWORD_FILE": str(tmp_path / "password")}, "PASSWORD")

    assert str(tmp_path / "password") in str(caught.value)
    assert "canary" not in "".join(traceback.format_exception(caught.value))
    assert "0xff" not in "".join(traceback.format_exception(caught.value))
