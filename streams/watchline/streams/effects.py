"""What a fold wants to be said: collected, then sent and acknowledged before the row is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from watchline.schemas.records import (
    AnomalyRecord,
    CommandRecord,
    ExpectedRunRecord,
    IncidentRecord,
    PipelineRecord,
    PulseRecord,
    WatermarkRecord,
)


@dataclass(slots=True)
class Effects:
    """Records for the sink, in the order they were decided."""

    state: list[PipelineRecord | WatermarkRecord | ExpectedRunRecord | CommandRecord | PulseRecord] = field(
        default_factory=list
    )
    runs: list[dict[str, Any]] = field(default_factory=list)  # the fields of a `RunRecord` each
    anomalies: list[AnomalyRecord] = field(default_factory=list)
    incidents: list[IncidentRecord] = field(default_factory=list)
