"""Alerts as they come from Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from pydantic import ValidationError

from watchline.consumers.notifier.alert import Alert, HeldBack, Post
from watchline.schemas.records import IncidentRecord

log = structlog.get_logger(__name__)


def alert_of(row: Mapping[str, Any]) -> Alert:
    """An alert from its row; from its columns when the payload can't be read: somebody has to hear of it."""
    try:
        incident = IncidentRecord.model_validate_json(row["payload"])
    except ValidationError as error:
        log.error("alert.unreadable", alert_id=row["alert_id"], errors=error.error_count())
        incident = _from_columns(row)
    # The columns are what groups are claimed by; a payload that says otherwise must not split one.
    incident = incident.model_copy(update={"pipeline": row["pipeline"], "owner": row["owner"]})
    return Alert(
        alert_id=row["alert_id"],
        incident=incident,
        created_at=row["created_at"],
        attempts=row["attempts"],
        told_at=row["told_at"],
        announced=row["announced"],
        quiet=row["quiet"],
        held=row["held"],
        storm_id=row["storm_id"],
        post=post_of(row),
        refresh_at=row["refresh_at"],
        delivery_key=row["delivery_key"],
        in_doubt_since=row["in_doubt_since"],
        unanswered=row["unanswered"],
        held_back=HeldBack(row["held_count"], tuple(row["held_names"])) if row["held_count"] else None,
    )


def post_of(row: Mapping[str, Any]) -> Post | None:
    """The post in a row that has its columns; None when there is none."""
    return None if row["ts"] is None else Post(row["channel"], row["channel_id"], row["ts"])


def _from_columns(row: Mapping[str, Any]) -> IncidentRecord:
    names = IncidentRecord.model_fields.keys() & row.keys()
    return IncidentRecord(
        **{name: row[name] for name in names},
        revision=0,
        at=row["created_at"],
        opened_at=row["cause_at"],
        title=f"{row['kind']} incident, its details can't be read",
    )
