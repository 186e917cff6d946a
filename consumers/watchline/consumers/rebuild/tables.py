"""What a rebuild does with each table of `public`. Whoever adds a table adds it here.

FOLDED: the sink fills it from the log, in the transaction of the rows that it comes from; a fresh one is filled in the
same way and takes its place. That holds too for what is derived from other tables (`run_ancestry`), as long as the
writer keeps it up.

DERIVED: triggers on the folded tables, and what the sink does beside its batches, fill it. A fresh one begins empty,
gets the triggers' marks, takes the place of the old one, and is then filled by REFILL.

UNTOUCHED: no topic can give it back; it stays where it is. What the writer would put into it while the log is read
again goes into a scratch copy that nobody reads: an alert is written once, by the sink that met the transition first.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Folded:
    """A table by its key; `heard` and `first` say when this database heard of a row, and are carried over.

    `heard` when the row is otherwise the same, `first` wherever the key is.
    """

    key: str
    heard: str = ""
    first: str = ""


FOLDED = {
    "pipelines": Folded("pipeline", heard="updated_at", first="first_seen_at"),
    "pipeline_versions": Folded("pipeline config_hash"),
    "pipeline_types": Folded("type", first="first_seen_at"),
    "datasets": Folded("dataset_id"),
    "lineage_edges": Folded("pipeline source target"),
    "runs": Folded("run_id", heard="stored_at"),
    "run_attempts": Folded("run_id attempt", heard="stored_at"),
    "run_ancestry": Folded("descendant ancestor"),
    "watermarks": Folded("pipeline dataset", heard="updated_at"),
    "watermark_history": Folded("event_id", heard="stored_at"),
    "anomalies": Folded("anomaly_id", heard="stored_at"),
    "expected_runs": Folded("pipeline due_at", heard="stored_at"),
    "incidents": Folded("incident_id", heard="stored_at"),
    "incident_events": Folded("incident_id transition_no", heard="stored_at"),
    "commands": Folded("event_id", heard="stored_at"),
    "anomaly_feedback": Folded("pipeline run_id metric", heard="stored_at"),
    "dead_letters": Folded("source_topic source_partition source_offset log_epoch"),  # see `letters`
    "ingestion": Folded("log_epoch partition", heard="stored_at"),
    "ingestion_hours": Folded("hour"),
}
UNTOUCHED = {
    "alert_outbox": "what people were told; the sink writes it once",
    "alert_deliveries": "how telling it went",
    "alert_messages": "posts as Slack names them",
    "alert_storms": "when a digest took their place",
    "retention": "how far back each table is kept",
    "sink_offsets": "where the sink stands; its fences are counted up",
    "alembic_version": "the schema",
}
DERIVED = {
    "pipeline_days": "counted from runs and slots",
    "pipeline_weeks": "counted from the days",
    "stale_days": "which of the days are to be counted again",
}
MOVED = (*FOLDED, *DERIVED)
# Functions of triggers that work in whatever schema their table is in; other triggers are somebody's own.
TRIGGERS = ("mark_days", "mark_left_day", "mark_all_days")
REFILL = "select fold_days(5000)"  # until there is nothing left to count
SCRATCH = ("alert_outbox", "sink_offsets")  # of the untouched ones, those that the writer writes

OLD, FRESH, SPARE, CHECKED = (
    "watchline_old",
    "watchline_rebuild",
    "watchline_rebuild_scratch",
    "watchline_rebuild_views",
)
