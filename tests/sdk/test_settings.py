"""Settings: arguments, then the environment, then defaults; nothing raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from watchline.schemas import KafkaConnection
from watchline.sdk import Pipeline, Watchline
from watchline.sdk.client import open_courier
from watchline.sdk.settings import read_settings


def test_arguments_win_over_the_environment() -> None:
    found = read_settings(
        {"topic_prefix": "mine", "disabled": None}, {"WATCHLINE_TOPIC_PREFIX": "theirs", "WATCHLINE_DISABLED": "1"}
    )

    assert (found.topic_prefix, found.disabled) == ("mine", True)


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("TRANSPORT", "Console", "transport", "console"),
        ("OUTBOX_DIR", "/tmp/x", "outbox_dir", Path("/tmp/x")),
        ("OUTBOX_MAX_BYTES", "10", "outbox_max_bytes", 10),
        ("BUFFER_EVENTS", "10", "buffer_events", 10),
        ("BUFFER_BYTES", "10", "buffer_bytes", 10),
        ("FLUSH_SECONDS", "0.5", "flush_seconds", 0.5),
        ("WATERMARK_SECONDS", "1", "watermark_seconds", 1.0),
        ("HEARTBEAT_SECONDS", "0", "heartbeat_seconds", 0.0),
        ("IDEMPOTENCE", "on", "idempotence", True),
        ("HANDLE_SIGTERM", "no", "handle_sigterm", False),
    ],
)
def test_each_setting_has_its_variable(name: str, text: str, field: str, value: object) -> None:
    assert getattr(read_settings({}, {f"WATCHLINE_{name}": text}), field) == value


@pytest.mark.parametrize("name", ["TRANSPORT", "BUFFER_EVENTS", "FLUSH_SECONDS", "DISABLED"])
def test_a_wrong_variable_is_ignored_with_a_warning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert read_settings({}, {f"WATCHLINE_{name}": "-nonsense"}) == read_settings({}, {})
    assert f"WATCHLINE_{name}" in caplog.text


@pytest.mark.parametrize("name", ["BUFFER_EVENTS", "BUFFER_BYTES"])
def test_a_buffer_without_room_is_ignored_with_a_warning(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert read_settings({}, {f"WATCHLINE_{name}": "0"}) == read_settings({}, {})
    assert f"WATCHLINE_{name}" in caplog.text


def test_an_outbox_without_room_keeps_nothing_on_disk() -> None:
    assert read_settings({}, {"WATCHLINE_OUTBOX_MAX_BYTES": "0"}).outbox_max_bytes == 0


def test_the_outbox_lies_where_caches_lie() -> None:
    assert read_settings({}, {}).outbox_dir == Path("~/.cache/watchline/outbox")
    assert read_settings({}, {"XDG_CACHE_HOME": "/c"}).outbox_dir == Path("/c/watchline/outbox")


def test_two_prefixes_have_two_outboxes_and_none_leaves_its_folder(tmp_path: Path) -> None:
    folders = {
        read_settings({"topic_prefix": prefix, "outbox_dir": tmp_path}, {}).outbox_folder
        for prefix in ("a", "b", "..", "a/b")
    }

    assert len(folders) == 4
    assert {folder.parent for folder in folders} == {tmp_path}
    assert all(folder.resolve().parent == tmp_path.resolve() for folder in folders)


def test_sasl_and_tls_reach_the_client() -> None:
    connection = KafkaConnection(
        bootstrap_servers="a:1,b:2",
        security_protocol="SASL_SSL",
        sasl_username="me",
        sasl_password="hunter2",
    )

    arguments = Watchline(connection).settings.client_arguments()

    assert arguments["bootstrap_servers"] == ["a:1", "b:2"]
    assert (arguments["sasl_plain_username"], arguments["sasl_plain_password"]) == ("me", "hunter2")
    assert arguments["ssl_context"].check_hostname
    assert "hunter2" not in repr(Watchline(connection).settings)


def test_sasl_from_the_environment_reaches_the_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    monkeypatch.setenv("WATCHLINE_KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    monkeypatch.setenv("WATCHLINE_KAFKA_SASL_USERNAME", "me")
    monkeypatch.setenv("WATCHLINE_KAFKA_SASL_PASSWORD_FILE", str(tmp_path / "password"))

    assert Watchline().settings.client_arguments()["sasl_plain_password"] == "hunter2"


def test_plain_addresses_give_what_the_connection_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", "a:1,b:2")

    assert Watchline().settings.client_arguments() == KafkaConnection.from_environment().client_arguments()


def test_an_address_in_code_keeps_the_login_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", "a:1")
    monkeypatch.setenv("WATCHLINE_KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    monkeypatch.setenv("WATCHLINE_KAFKA_SASL_USERNAME", "me")

    settings = Watchline("b:2,c:3").settings

    assert settings.client_arguments()["bootstrap_servers"] == ["b:2", "c:3"]
    assert settings.client_arguments()["sasl_plain_username"] == "me"
    assert settings.address == "b:2,c:3"


@pytest.mark.parametrize("arguments", [{"connection": 5}, {"outbox_dir": 5}, {"transport": "pigeon"}])
def test_a_wrong_argument_does_not_stop_the_job(arguments: dict[str, Any]) -> None:
    Watchline(**arguments)


def test_a_user_without_a_home_has_no_outbox_and_no_trouble(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def homeless(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    client = Watchline(outlet=open_courier(read_settings({"connection": "127.0.0.1:1"}, {})))

    with client.pipeline(Pipeline(name="orders")).run():
        pass
    client.close()

    account = client.counters()
    assert (account.emitted, account.dropped) == (3, {"outbox_failed": 3})
    assert "set WATCHLINE_OUTBOX_DIR" in caplog.text
