"""What the environment can say to the sink."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from watchline.consumers.sink import SinkSettings
from watchline.schemas.records import MAX_EPOCHS, revision_of


@pytest.mark.parametrize("seconds", ["inf", "1e12"])
def test_an_age_that_reaches_back_before_all_calendars_is_refused_at_the_start(
    seconds: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", "postgresql://127.0.0.1/watchline")
    monkeypatch.setenv("WATCHLINE_ALERT_MAX_AGE_SECONDS", seconds)

    with pytest.raises(ValidationError, match="alert_max_age_seconds"):
        SinkSettings.from_environment()


def test_the_last_log_epoch_that_is_taken_gives_revisions_that_postgres_can_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", "postgresql://127.0.0.1/watchline")
    monkeypatch.setenv("WATCHLINE_LOG_EPOCH", str(MAX_EPOCHS - 1))

    assert revision_of(SinkSettings.from_environment().log_epoch, 2**44 - 2) < 2**63

    monkeypatch.setenv("WATCHLINE_LOG_EPOCH", str(MAX_EPOCHS))
    with pytest.raises(ValidationError, match="log_epoch"):
        SinkSettings.from_environment()
