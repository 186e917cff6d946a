from pathlib import Path

import pytest

from watchline.cli.main import run
from watchline.cli.settings import read_dsn, read_kafka, read_topics
from watchline.schemas.errors import Misconfigured


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("topics check", "WATCHLINE_KAFKA_SECURITY_PROTOCOL", "plain"),
        ("streams", "WATCHLINE_PARTITIONS", "0"),
        ("streams", "WATCHLINE_PULSE_SECONDS", "soon"),
        ("notify", "WATCHLINE_GROUP_WAIT_SECONDS", "-1"),
    ],
)
def test_a_wrong_setting_is_named_by_its_variable(
    command: str,
    name: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", "postgresql://u:p@127.0.0.1/x")
    monkeypatch.setenv(name, value)

    code = run(command.split())

    shown = capsys.readouterr().err
    assert code == 2
    assert shown.startswith(f"error: {name}")
    assert "Traceback" not in shown


@pytest.mark.parametrize("command", ["sink", "notify", "migrate"])
def test_a_missing_dsn_is_named(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run([command])

    assert code == 2
    assert "WATCHLINE_POSTGRES_DSN" in capsys.readouterr().err


def test_the_dsn_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "dsn"
    secret.write_text("postgresql://u:p@db/x\n")
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN_FILE", str(secret))

    assert read_dsn() == "postgresql://u:p@db/x"


def test_a_secret_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_KAFKA_SASL_PASSWORD_FILE", "/nowhere/password")

    with pytest.raises(Misconfigured, match="/nowhere/password"):
        read_kafka()


def test_an_empty_topic_prefix_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_TOPIC_PREFIX", "")

    assert read_topics().runs == "watchline.runs"
