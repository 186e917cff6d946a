"""What is kept for how long, and when the rest goes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from watchline.consumers.retention.days import cutoff, reconcile
from watchline.schemas.limits import MAX_SECONDS

Days = Annotated[int, Field(ge=1, le=36_500)]  # a hundred years is for ever


class RetentionSettings(BaseSettings):
    """`WATCHLINE_PRUNE`, `WATCHLINE_PRUNE_HOUR` (UTC) and, by table, `WATCHLINE_KEEP_…_DAYS`."""

    model_config = SettingsConfigDict(
        env_prefix="WATCHLINE_", frozen=True, extra="ignore", env_ignore_empty=True, hide_input_in_errors=True
    )

    prune: bool = True
    prune_hour: int = Field(default=3, ge=0, le=23)
    alert_max_age_seconds: float = Field(default=86_400, ge=0, le=MAX_SECONDS)
    keep_runs_days: Days = 400
    keep_anomalies_days: Days = 400
    keep_anomaly_feedback_days: Days = 400  # a column of reporting.anomalies
    keep_expected_runs_days: Days = 400
    keep_incidents_days: Days = 400
    keep_ingestion_hours_days: int = Field(default=400, ge=36, le=36_500)  # the watch compares with four weeks ago
    keep_incident_events_days: Days = 90
    keep_alert_outbox_days: Days = 90
    keep_commands_days: Days = 90
    keep_watermark_history_days: Days = 90
    keep_dead_letters_days: Days = 90

    def days(self, **changed: int) -> dict[str, int]:
        """How many days each table is kept, with some of them `changed`."""
        prefix, suffix = "keep_", "_days"
        told = {
            name.removeprefix(prefix).removesuffix(suffix): getattr(self, name)
            for name in type(self).model_fields
            if name.startswith(prefix)
        }
        return reconcile(told | changed, timedelta(seconds=self.alert_max_age_seconds))

    def cutoffs(self, now: datetime, **changed: int) -> dict[str, datetime]:
        """From when on each table is kept at `now`."""
        return {table: cutoff(now, days) for table, days in self.days(**changed).items()}
