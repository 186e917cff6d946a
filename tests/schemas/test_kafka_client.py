"""What the environment says of Kafka: secrets from files, and variables that are none."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from watchline.schemas.connection import KafkaConnection
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


def test_a_misspelt_variable_of_kafka_is_refused_by_name() -> None:
    with pytest.raises(Misconfigured, match="WATCHLINE_KAFKA_SSL_CA_FILE is no setting") as caught:
        KafkaConnection.from_environment({"WATCHLINE_KAFKA_SSL_CA_FILE": "canary"})

    assert "WATCHLINE_KAFKA_SSL_CAFILE" in str(caught.value.hint)
    assert "canary" not in f"{caught.value} {caught.value.hint}"


def test_every_setting_of_kafka_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "user").write_text("reader\n")

    read = KafkaConnection.from_environment({"WATCHLINE_KAFKA_SASL_USERNAME_FILE": str(tmp_path / "user")})

    assert read.sasl_username == "reader"
