"""The topics of one Watchline, and how each must be made."""

from __future__ import annotations

from dataclasses import dataclass

PARTITIONS = 8
MAX_RECORD_BYTES = 256 * 1024
# A dead letter carries up to 1 MiB of somebody's bytes in base64, and its key.
MAX_DEAD_LETTER_BYTES = 4 * 1024 * 1024
DAY_MS = 86_400_000
# Kafka compacts only segments that are closed, by default at 1 GiB, and whoever starts reads all that is not compacted:
# a worker its changelogs, a job its watermark.
COMPACTED_SEGMENT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """One topic as it must exist: `config` holds the broker's topic settings."""

    name: str
    config: dict[str, str]


@dataclass(frozen=True, slots=True)
class Topics:
    """Topic names under one prefix (`watchline` unless a second Watchline shares the broker)."""

    prefix: str = "watchline"

    @property
    def pipelines(self) -> str:
        return f"{self.prefix}.pipelines"

    @property
    def runs(self) -> str:
        return f"{self.prefix}.runs"

    @property
    def watermarks(self) -> str:
        return f"{self.prefix}.watermarks"

    @property
    def state(self) -> str:
        return f"{self.prefix}.state"

    @property
    def anomalies(self) -> str:
        return f"{self.prefix}.anomalies"

    @property
    def incidents(self) -> str:
        return f"{self.prefix}.incidents"

    @property
    def dead_letters(self) -> str:
        return f"{self.prefix}.dead-letters"

    @property
    def sources(self) -> tuple[str, ...]:
        """What jobs write."""
        return (self.pipelines, self.runs, self.watermarks)

    @property
    def outputs(self) -> tuple[str, ...]:
        """What the streams write and the sink reads."""
        return (self.state, self.anomalies, self.incidents, self.dead_letters)

    @property
    def application(self) -> str:
        """The Faust app id: consumer group and changelog names begin with it."""
        return f"{self.prefix}-streams"

    @property
    def sink_group(self) -> str:
        return f"{self.prefix}-sink"

    def changelog(self, table: str) -> str:
        """The changelog topic of a Faust table."""
        return f"{self.application}-{table}-changelog"

    def specs(self) -> tuple[TopicSpec, ...]:
        """All topics that must exist before a worker starts, changelogs included; equal partition counts."""
        compact = {"cleanup.policy": "compact", "segment.bytes": str(COMPACTED_SEGMENT_BYTES)}
        month = {"retention.ms": str(30 * DAY_MS)}
        return (
            TopicSpec(self.pipelines, compact),
            TopicSpec(self.runs, month),
            TopicSpec(self.watermarks, compact),
            TopicSpec(self.state, month),
            TopicSpec(self.anomalies, month),
            TopicSpec(self.incidents, month),
            TopicSpec(
                self.dead_letters,
                {"retention.ms": str(90 * DAY_MS), "max.message.bytes": str(MAX_DEAD_LETTER_BYTES)},
            ),
            *(TopicSpec(self.changelog(table), compact) for table in TABLES),
        )


KEY_SEPARATOR = b"\0"  # no name holds one


def watermark_key(pipeline: str, dataset: str | None) -> bytes:
    """The key of a watermark: its pipeline, and its dataset if it has one, so that compaction keeps one of each.

    It travels in the partition of its pipeline all the same (`home_of`).
    """
    return pipeline.encode() + (KEY_SEPARATOR + dataset.encode() if dataset else b"")


def home_of(key: bytes) -> bytes:
    """The part of a key that chooses the partition: the pipeline."""
    return key.partition(KEY_SEPARATOR)[0]


TABLES = ("declarations", "runs", "watermarks")
