"""What jobs import: declare a pipeline, report its runs, read its watermark."""

from watchline.schemas.errors import WatermarkUnavailable
from watchline.sdk.client import Watchline
from watchline.sdk.definition import AnomalyRule, Dataset, Freshness, Mute, Pipeline, PipelineType, Retries, Schedule
from watchline.sdk.message import Counters
from watchline.sdk.pipeline import TrackedPipeline
from watchline.sdk.run import Run, current_run

__all__ = [
    "AnomalyRule",
    "Counters",
    "Dataset",
    "Freshness",
    "Mute",
    "Pipeline",
    "PipelineType",
    "Retries",
    "Run",
    "Schedule",
    "TrackedPipeline",
    "Watchline",
    "WatermarkUnavailable",
    "current_run",
]
