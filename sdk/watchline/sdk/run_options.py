"""What is known of a run when it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from watchline.sdk.harmless import warn_once


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is known of a run when it begins.

    `parent_run_id` defaults to WATCHLINE_RUN_ID, which `watchline exec` sets; `watermark` overrides the log;
    `nominal_at` is the slot that a scheduler meant; a `backfill` teaches no baseline.
    """

    run_id: UUID | str | None = None
    parent_run_id: UUID | str | None = None
    attempt: int = 1
    watermark: object | None = None
    next_watermark: object | None = None
    nominal_at: datetime | str | None = None
    backfill: bool = False
    heartbeat_seconds: float | None = None
    labels: Mapping[str, object] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


def read_options(options: Mapping[str, Any]) -> RunOptions:
    """The options of a run; unknown ones are logged and ignored, as a typing error must not stop the job."""
    known = {name: value for name, value in options.items() if name in RunOptions.__slots__}
    for name in options.keys() - known.keys():
        warn_once(f"run option {name}", "a run has no option %.200r; it has %s", name, ", ".join(RunOptions.__slots__))
    return RunOptions(**known)


def read_id(value: UUID | str | None) -> UUID | None:
    """A UUID, None with a warning for anything else that is not None or empty."""
    if value is None or (isinstance(value, str) and not value):
        return None
    try:
        return value if isinstance(value, UUID) else UUID(str(value))
    except Exception:  # noqa: BLE001 - the text of an object of the job's may raise anything
        warn_once("run id", "%.200r is no run id and is left out", value)
        return None
