"""The statements that write `runs`; the upsert merges by the rules of `merging`."""

from __future__ import annotations

from watchline.consumers.sink.merging import ENDING, KNOWN

COLUMNS = [
    "run_id",
    "pipeline",
    "parent_run_id",
    "attempt",
    "started_at",
    "nominal_at",
    "backfill",
    "heartbeat_seconds",
    "watermark",
    "next_watermark",
    "last_heartbeat_at",
    "status",
    "reported_status",
    "end_event_id",
    "ended_at",
    "duration_seconds",
    "inserts",
    "updates",
    "deletes",
    "total_rows",
    "throughput",
    "metrics",
    "error_type",
    "error_message",
    "overdue",
    "anomalous",
    "flags",
    "labels_started",
    "labels_ended",
    "metadata_started",
    "metadata_ended",
    "producer_host",
    "revision",
]
# What a connection needs. A plan kept for later batches would be that of an empty table long after it has grown.
# A sink that is frozen within its transaction holds the rows of its offsets, and its successor waits for them.
SESSION = f"""
set plan_cache_mode = force_custom_plan;
set idle_in_transaction_session_timeout = '10s';
create temporary table staged_runs on commit delete rows as select {", ".join(COLUMNS)} from runs with no data
"""  # noqa: S608 - constants
EMPTY = "truncate staged_runs"
STORED = "select run_id, coalesce(attempt, 1) from unnest($1::uuid[]) as one (run_id) join runs using (run_id)"

SAME_END = (
    "(excluded.end_event_id is not distinct from runs.end_event_id and "
    "(runs.end_event_id is not null or coalesce(excluded.attempt, 1) = coalesce(runs.attempt, 1)))"
)
TAKES_END = (
    "(coalesce(excluded.attempt, 1) > coalesce(runs.attempt, 1) or (coalesce(excluded.attempt, 1) = "
    "coalesce(runs.attempt, 1) and (runs.end_event_id is null or (excluded.end_event_id is not null "
    "and (coalesce(excluded.ended_at, '-infinity'), excluded.end_event_id) "
    ">= (coalesce(runs.ended_at, '-infinity'), runs.end_event_id)))))"
)
NEXT_WATERMARK = (
    "case when coalesce(excluded.attempt, 1) > coalesce(runs.attempt, 1) then excluded.next_watermark "
    "when coalesce(excluded.attempt, 1) < coalesce(runs.attempt, 1) then runs.next_watermark "
    "else coalesce(excluded.next_watermark, runs.next_watermark) end"
)
# What stands for "nothing" in the columns that come only with their end.
NOTHING = {"metrics": "'{}'"} | dict.fromkeys(("error_type", "error_message", "labels_ended", "metadata_ended"), "null")
# A record of a run that the streams no longer held knows only the flags of its own events.
FLAGS = (
    "case when excluded.backfill is null "
    'then array(select distinct flag collate "C" from unnest(runs.flags || excluded.flags) as flag order by 1) '
    "else excluded.flags end"
)
MERGED = ", ".join(
    (
        *(f"{name} = coalesce(excluded.{name}, runs.{name})" for name in KNOWN),
        *(f"{name} = case when {TAKES_END} then excluded.{name} else runs.{name} end" for name in ENDING),
        *(
            f"{name} = case when not {TAKES_END} or ({SAME_END} and excluded.{name} is not distinct from {nothing}) "
            f"then runs.{name} else excluded.{name} end"
            for name, nothing in NOTHING.items()
        ),
        f"anomalous = case when {TAKES_END} then excluded.anomalous or (runs.anomalous and {SAME_END}) "
        "else runs.anomalous end",
        f"next_watermark = {NEXT_WATERMARK}",
        "attempt = greatest(excluded.attempt, runs.attempt)",
        "overdue = runs.overdue or excluded.overdue",
        f"flags = {FLAGS}",
        "revision = excluded.revision",
        "stored_at = now()",
    )
)
# A run belongs to one pipeline: revisions of two pipelines come from two partitions and can't be compared.
UPSERT = (
    f"insert into runs ({', '.join(COLUMNS)}) select {', '.join(COLUMNS)} from staged_runs order by run_id "  # noqa: S608 - constants
    f"on conflict (run_id) do update set {MERGED} "
    "where excluded.revision > runs.revision and excluded.pipeline = runs.pipeline"
)
