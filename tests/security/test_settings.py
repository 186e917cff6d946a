"""A setting that is a secret is declared as one, and shown by nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from security.canaries import CANARY, Secret, is_secret, planted, secrets, settings_classes
from watchline.sdk import Watchline

SOUNDS_SECRET = re.compile(r"password|passphrase|secret|token|dsn|webhook_url|credential|api_key|private_key")


def test_every_class_of_settings_is_looked_at() -> None:
    names = {each.__name__ for each in settings_classes()}

    assert {"KafkaConnection", "StreamsSettings", "SinkSettings", "NotifierSettings"} <= names
    assert {"WATCHLINE_KAFKA_SASL_PASSWORD", "WATCHLINE_POSTGRES_DSN", "WATCHLINE_SLACK_WEBHOOK_URL"} <= set(planted())


@pytest.mark.parametrize("owner", settings_classes(), ids=lambda one: one.__name__)
def test_what_sounds_secret_is_a_secret(owner: type[BaseModel]) -> None:
    open_ones = [
        name
        for name, field in owner.model_fields.items()
        if SOUNDS_SECRET.search(name) and not is_secret(field.annotation)
    ]

    assert open_ones == []


@pytest.mark.parametrize("owner", settings_classes(), ids=lambda one: one.__name__)
def test_an_error_about_settings_does_not_quote_them(owner: type[BaseModel]) -> None:
    assert owner.model_config.get("hide_input_in_errors") is True


@pytest.mark.parametrize("secret", secrets(), ids=lambda one: f"{one.owner.__name__}.{one.field}")
@pytest.mark.parametrize("in_a_file", [False, True], ids=["variable", "file"])
def test_a_secret_is_read_and_not_shown(
    secret: Secret, *, in_a_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in planted().items():
        if in_a_file:
            (tmp_path / name).write_text(f"{value}\n")
            monkeypatch.setenv(f"{name}_FILE", str(tmp_path / name))
        else:
            monkeypatch.setenv(name, value)

    settings: Any = secret.owner.from_environment() if hasattr(secret.owner, "from_environment") else secret.owner()

    assert getattr(settings, secret.field).get_secret_value() == secret.canary
    shown = f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()} {vars(settings)}"
    assert CANARY not in shown


@pytest.mark.parametrize("owner", settings_classes(), ids=lambda one: one.__name__)
def test_settings_that_are_wrong_are_refused_without_the_secrets_beside_them(
    owner: type[BaseModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in planted().items():
        monkeypatch.setenv(name, value)
    given = {secret.field: secret.canary for secret in secrets() if secret.owner is owner}

    for field in owner.model_fields:
        with pytest.raises(ValidationError) as caught:
            owner.model_validate({**given, field: object()})
        assert CANARY not in str(caught.value)


def test_a_client_of_the_sdk_shows_no_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in planted().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("WATCHLINE_KAFKA_SECURITY_PROTOCOL", "SASL_PLAINTEXT")
    monkeypatch.setenv("WATCHLINE_OUTBOX_DIR", str(tmp_path))
    monkeypatch.setenv("WATCHLINE_DISABLED", "1")
    client = Watchline()

    assert CANARY not in f"{client!r} {client} {vars(client) if hasattr(client, '__dict__') else ''}"
