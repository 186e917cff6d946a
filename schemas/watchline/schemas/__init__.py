"""The contract: what travels between jobs, streams, sink and notifier.

Names are imported when they are first used: a short job that sends three events should not pay for the decoder, the
sink's records or TLS.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchline.schemas.compatibility import breaking_changes
    from watchline.schemas.connection import KafkaConnection
    from watchline.schemas.declaration import (
        AnomalyRule,
        Check,
        CompleteBy,
        Dataset,
        DoneBy,
        Freshness,
        KeepFiring,
        Mute,
        Schedule,
        Timeliness,
        TypeDefaults,
        WatermarkKind,
    )
    from watchline.schemas.decoding import check_key, decode
    from watchline.schemas.encoding import config_hash, encode
    from watchline.schemas.errors import (
        BadEvent,
        Misconfigured,
        Unavailable,
        WatchlineError,
        WatermarkUnavailable,
    )
    from watchline.schemas.events import (
        BaseEvent,
        Command,
        CommandEvent,
        EndStatus,
        Event,
        FeedbackGiven,
        IncidentAcknowledged,
        IncidentCommand,
        IncidentResolved,
        IncidentSnoozed,
        PipelineDeclared,
        PipelineMuted,
        PipelineUnmuted,
        Producer,
        RunEnded,
        RunError,
        RunEvent,
        RunHeartbeat,
        RunStarted,
        Status,
        WatermarkAdvanced,
    )
    from watchline.schemas.flags import FLAGS
    from watchline.schemas.record_codec import decode_record, encode_record
    from watchline.schemas.records import (
        AnomalyRecord,
        CommandRecord,
        DeadLetter,
        ExpectedRunRecord,
        IncidentFact,
        IncidentKind,
        IncidentRecord,
        PipelineRecord,
        Record,
        RunRecord,
        SinkRecord,
        Transition,
        WatermarkRecord,
        revision_of,
    )
    from watchline.schemas.topics import Topics, TopicSpec

HOMES = {
    "compatibility": ("breaking_changes",),
    "connection": ("KafkaConnection",),
    "declaration": (
        "AnomalyRule",
        "Check",
        "CompleteBy",
        "Dataset",
        "DoneBy",
        "Freshness",
        "KeepFiring",
        "Mute",
        "Schedule",
        "Timeliness",
        "TypeDefaults",
        "WatermarkKind",
    ),
    "decoding": ("check_key", "decode"),
    "encoding": ("config_hash", "encode"),
    "errors": ("BadEvent", "Misconfigured", "Unavailable", "WatchlineError", "WatermarkUnavailable"),
    "events": (
        "BaseEvent",
        "Command",
        "CommandEvent",
        "EndStatus",
        "Event",
        "FeedbackGiven",
        "IncidentAcknowledged",
        "IncidentCommand",
        "IncidentResolved",
        "IncidentSnoozed",
        "PipelineDeclared",
        "PipelineMuted",
        "PipelineUnmuted",
        "Producer",
        "RunEnded",
        "RunError",
        "RunEvent",
        "RunHeartbeat",
        "RunStarted",
        "Status",
        "WatermarkAdvanced",
    ),
    "flags": ("FLAGS",),
    "record_codec": ("decode_record", "encode_record"),
    "records": (
        "AnomalyRecord",
        "CommandRecord",
        "DeadLetter",
        "ExpectedRunRecord",
        "IncidentFact",
        "IncidentKind",
        "IncidentRecord",
        "PipelineRecord",
        "Record",
        "RunRecord",
        "SinkRecord",
        "Transition",
        "WatermarkRecord",
        "revision_of",
    ),
    "topics": ("TopicSpec", "Topics"),
}
MODULES = {name: module for module, names in HOMES.items() for name in names}

__all__ = [
    "FLAGS",
    "AnomalyRecord",
    "AnomalyRule",
    "BadEvent",
    "BaseEvent",
    "Check",
    "Command",
    "CommandEvent",
    "CommandRecord",
    "CompleteBy",
    "Dataset",
    "DeadLetter",
    "DoneBy",
    "EndStatus",
    "Event",
    "ExpectedRunRecord",
    "FeedbackGiven",
    "Freshness",
    "IncidentAcknowledged",
    "IncidentCommand",
    "IncidentFact",
    "IncidentKind",
    "IncidentRecord",
    "IncidentResolved",
    "IncidentSnoozed",
    "KafkaConnection",
    "KeepFiring",
    "Misconfigured",
    "Mute",
    "PipelineDeclared",
    "PipelineMuted",
    "PipelineRecord",
    "PipelineUnmuted",
    "Producer",
    "Record",
    "RunEnded",
    "RunError",
    "RunEvent",
    "RunHeartbeat",
    "RunRecord",
    "RunStarted",
    "Schedule",
    "SinkRecord",
    "Status",
    "Timeliness",
    "TopicSpec",
    "Topics",
    "Transition",
    "TypeDefaults",
    "Unavailable",
    "WatchlineError",
    "WatermarkAdvanced",
    "WatermarkKind",
    "WatermarkRecord",
    "WatermarkUnavailable",
    "breaking_changes",
    "check_key",
    "config_hash",
    "decode",
    "decode_record",
    "encode",
    "encode_record",
    "revision_of",
]


def __getattr__(name: str) -> Any:
    """A public name, from the module that defines it."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    globals()[name] = value  # the next look-up is a plain one
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted(__all__)
