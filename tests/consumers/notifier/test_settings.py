"""What the environment can say to the notifier."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from watchline.consumers.notifier import NotifierSettings
from watchline.schemas.errors import Misconfigured

DSN = "postgresql://notifier:canary-password@db.example/watchline"
URL = "https://hooks.slack.com/services/T0/B0/canary-secret"


@pytest.fixture(autouse=True)
def _dsn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", DSN)


def test_the_defaults_are_those_of_alertmanager() -> None:
    timing = NotifierSettings.from_environment().timing

    assert (timing.group_wait, timing.group_interval, timing.repeat_interval) == (
        timedelta(seconds=30),
        timedelta(minutes=5),
        timedelta(hours=4),
    )


def test_a_secret_can_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "url").write_text(f"{URL}\n")
    monkeypatch.setenv("WATCHLINE_SLACK_WEBHOOK_URL_FILE", str(tmp_path / "url"))

    settings = NotifierSettings.from_environment()

    assert settings.slack_webhook_url is not None
    assert settings.slack_webhook_url.get_secret_value() == URL


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_SLACK_WEBHOOK_URL", URL)
    monkeypatch.setenv("WATCHLINE_SLACK_FALLBACK_WEBHOOK_URL", URL)

    settings = NotifierSettings.from_environment()

    assert "canary" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"


def test_a_wrong_setting_is_named_and_no_value_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_GROUP_WAIT_SECONDS", "canary")

    with pytest.raises(Misconfigured, match="WATCHLINE_GROUP_WAIT_SECONDS") as caught:
        NotifierSettings.from_environment()

    assert "canary" not in str(caught.value)


def test_a_missing_database_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATCHLINE_POSTGRES_DSN")

    with pytest.raises(Misconfigured, match="WATCHLINE_POSTGRES_DSN is not set"):
        NotifierSettings.from_environment()


def test_a_missing_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_SLACK_WEBHOOK_URL_FILE", "/nowhere/at/all")

    with pytest.raises(Misconfigured, match="/nowhere/at/all"):
        NotifierSettings.from_environment()


def test_an_empty_address_is_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_SLACK_WEBHOOK_URL", "")

    assert NotifierSettings.from_environment().slack_webhook_url is None


def test_allowed_hosts_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_SLACK_ALLOWED_HOSTS", "hooks.slack.com, chat.example")

    assert NotifierSettings.from_environment().slack_allowed_hosts == ("hooks.slack.com", "chat.example")


def test_settings_can_not_be_changed() -> None:
    settings = NotifierSettings.from_environment()

    with pytest.raises(ValidationError):
        settings.group_wait_seconds = 0  # type: ignore[misc]  # the point of the test


@pytest.mark.parametrize("name", ["GROUP_WAIT", "GROUP_INTERVAL", "REPEAT_INTERVAL", "GIVE_UP_AFTER", "LEASE", "POLL"])
def test_a_time_that_no_clock_can_add_is_refused_at_the_start(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"WATCHLINE_{name}_SECONDS", "inf")

    with pytest.raises(Misconfigured, match=f"WATCHLINE_{name}_SECONDS"):
        NotifierSettings.from_environment()


def test_a_bot_needs_a_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_SLACK_BOT_TOKEN", "xoxb-canary")

    with pytest.raises(Misconfigured, match="WATCHLINE_SLACK_CHANNEL") as caught:
        NotifierSettings.from_environment()

    assert "canary" not in str(caught.value)


def test_a_channel_needs_a_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_SLACK_ROUTES", '[{"owner": "sales", "channel": "#sales"}]')

    with pytest.raises(Misconfigured, match="WATCHLINE_SLACK_BOT_TOKEN"):
        NotifierSettings.from_environment()


def test_a_token_and_routes_can_stand_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("xoxb-canary\n")
    (tmp_path / "routes").write_text('[{"owner": "sales", "channel": "#sales"}]')
    monkeypatch.setenv("WATCHLINE_SLACK_BOT_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("WATCHLINE_SLACK_ROUTES_FILE", str(tmp_path / "routes"))
    monkeypatch.setenv("WATCHLINE_SLACK_CHANNEL", "#data")

    settings = NotifierSettings.from_environment()

    assert settings.slack_bot_token is not None
    assert settings.slack_bot_token.get_secret_value() == "xoxb-canary"
    assert [rule.destination for rule in settings.rules] == ["#sales"]
    assert "canary" not in f"{settings!r} {settings.model_dump()}"


@pytest.mark.parametrize(
    "routes", ["{", "[{}]", '[{"webhook_url": "https://x/canary"}]', '[{"owner": 7, "channel": ""}]']
)
def test_routes_that_lead_nowhere_are_refused_and_not_shown(routes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_SLACK_ROUTES", routes)

    with pytest.raises(Misconfigured, match="WATCHLINE_SLACK_ROUTES") as caught:
        NotifierSettings.from_environment()

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(("lease", "timeout"), [("10", "10"), ("5", "10"), ("60", "60.5")])
def test_a_lease_that_runs_out_before_a_request_does_is_refused_with_both_numbers(
    lease: str, timeout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHLINE_LEASE_SECONDS", lease)
    monkeypatch.setenv("WATCHLINE_REQUEST_TIMEOUT_SECONDS", timeout)

    with pytest.raises(Misconfigured) as caught:
        NotifierSettings.from_environment()

    assert str(caught.value).startswith(f"WATCHLINE_LEASE_SECONDS ({lease})")
    assert f"WATCHLINE_REQUEST_TIMEOUT_SECONDS ({timeout})" in str(caught.value)
