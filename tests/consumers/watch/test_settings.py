"""What the environment can say to the watch."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from watchline.consumers.watch.health import Patience
from watchline.consumers.watch.settings import WatchSettings
from watchline.schemas.errors import Misconfigured

URL = "https://hc-ping.com/canary"


def test_the_defaults_are_those_of_the_fold() -> None:
    assert WatchSettings.from_environment().patience == Patience()


def test_the_address_can_stand_in_a_file_and_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "url").write_text(f"{URL}\n")
    monkeypatch.setenv("WATCHLINE_DEAD_MAN_URL_FILE", str(tmp_path / "url"))

    settings = WatchSettings.from_environment()

    assert settings.dead_man_url is not None
    assert settings.dead_man_url.get_secret_value() == URL
    assert "canary" not in f"{settings!r} {settings.model_dump()}"


def test_a_wrong_value_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_INGESTION_SILENT_SECONDS", "soon")

    with pytest.raises(Misconfigured, match="WATCHLINE_INGESTION_SILENT_SECONDS"):
        WatchSettings.from_environment()


def test_patience_can_be_changed() -> None:
    assert WatchSettings(ingestion_settle_seconds=5).patience.settle == timedelta(seconds=5)
