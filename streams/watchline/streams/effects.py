"""What a fold wants to be said: collected, then sent and acknowledged before the row is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from watchline.schemas.records import (
    AnomalyRecord,
    IncidentRecord,
    PipelineRecord,
    RunRecord,
    WatermarkRecord,
)


@dataclass(slots=True)
class Effects:
    """Records for the sink, in the order they were decided."""

    state: list[PipelineRecord | RunRecord | WatermarkRecord] = field(default_factory=list)
    anomalies: list[AnomalyRecord] = field(default_factory=list)
    incidents: list[IncidentRecord] = field(default_factory=list)
