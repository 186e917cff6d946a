"""What jobs import: declare a pipeline, report its runs, read its watermark."""

from watchline.schemas.errors import WatermarkUnavailable
from watchline.sdk.client import Watchline
from watchline.sdk.definition import (
    AnomalyRule,
    CompleteBy,
    Dataset,
    DoneBy,
    Freshness,
    Mute,
    Pipeline,
    PipelineType,
    Retries,
    Schedule,
    Timeliness,
)
from watchline.sdk.message import Counters
from watchline.sdk.pipeline import TrackedPipeline
from watchline.sdk.run import Run, current_run

__all__ = [
    "AnomalyRule",
    "CompleteBy",
    "Counters",
    "Dataset",
    "DoneBy",
    "Freshness",
    "Mute",
    "Pipeline",
    "PipelineType",
    "Retries",
    "Run",
    "Schedule",
    "Timeliness",
    "TrackedPipeline",
    "Watchline",
    "WatermarkUnavailable",
    "current_run",
]
