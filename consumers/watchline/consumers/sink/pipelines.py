"""Writing `pipelines` and what a declaration brings with it: versions, types, datasets and lineage."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import asyncpg

from watchline.consumers.sink.findings import newest_of
from watchline.consumers.sink.statements import insert, rows, upsert
from watchline.schemas.declaration import Dataset
from watchline.schemas.encoding import config_hash
from watchline.schemas.events import PipelineDeclared
from watchline.schemas.records import PipelineRecord

SEEN = """
insert into pipelines (pipeline) select name from unnest($1::text[]) as name
where not exists (select from pipelines p where p.pipeline = name) order by name on conflict do nothing
"""
PIPELINES = (
    upsert(
        "pipelines",
        "pipeline",
        "pipeline type active owner tags metadata freshness_seconds timeliness_seconds schedule_cron "
        "schedule_timezone schedule_grace_seconds default_watermark watermark_kind config_hash declaration "
        "declared_at revision",
        stamp="updated_at",
    )
    + " returning pipeline"
)
VERSIONS = (
    insert(
        "pipeline_versions",
        "pipeline config_hash",
        "pipeline config_hash declaration first_declared_at last_declared_at first_revision last_revision",
    )
    + """ on conflict (pipeline, config_hash) do update set
    first_declared_at = least(pipeline_versions.first_declared_at, excluded.first_declared_at),
    last_declared_at = greatest(pipeline_versions.last_declared_at, excluded.last_declared_at),
    first_revision = least(pipeline_versions.first_revision, excluded.first_revision),
    last_revision = greatest(pipeline_versions.last_revision, excluded.last_revision)"""
)
# Pipelines of one type sit in several partitions, so the latest declaration wins by time and then by name.
TYPES = (
    insert(
        "pipeline_types",
        "type",
        "type freshness_seconds timeliness_seconds mutes declared_by declared_at",
    )
    + """ on conflict (type) do update set freshness_seconds = excluded.freshness_seconds,
    timeliness_seconds = excluded.timeliness_seconds, mutes = excluded.mutes,
    declared_by = excluded.declared_by, declared_at = excluded.declared_at
where excluded.declared_at is not null and (pipeline_types.declared_at is null
    or (excluded.declared_at, excluded.declared_by) > (pipeline_types.declared_at, pipeline_types.declared_by))"""
)
DATASETS = (
    insert(
        "datasets",
        "dataset_id",
        "dataset_id name type dataset_group first_declared_at last_declared_at",
    )
    + """ on conflict (dataset_id) do update set
    first_declared_at = least(datasets.first_declared_at, excluded.first_declared_at),
    last_declared_at = greatest(datasets.last_declared_at, excluded.last_declared_at)
where excluded.first_declared_at < datasets.first_declared_at
    or excluded.last_declared_at > datasets.last_declared_at"""
)
EDGES_GONE = "delete from lineage_edges where pipeline = any($1::text[])"
EDGES = insert(
    "lineage_edges",
    "pipeline source target",
    "source target pipeline declared_at revision",
)


async def store_seen(connection: asyncpg.Connection, names: set[str]) -> None:
    """Give every pipeline that was heard of a row; a declaration may fill it later."""
    await connection.execute(SEEN, sorted(names))


async def store_declarations(connection: asyncpg.Connection, records: list[PipelineRecord]) -> None:
    """Store the newest declaration of each pipeline, every version and dataset; lineage is replaced as a whole."""
    if not records:
        return
    newest = newest_of(records, lambda record: record.pipeline)
    changed = await connection.fetch(PIPELINES, rows(pipeline_row(record) for record in newest))
    await connection.execute(VERSIONS, rows(version_rows(records)))
    await connection.execute(TYPES, rows(type_rows(records)))
    await connection.execute(DATASETS, rows(dataset_rows(records)))
    replaced = {row["pipeline"] for row in changed}
    await replace_edges(connection, [record for record in newest if record.pipeline in replaced])


async def replace_edges(connection: asyncpg.Connection, records: list[PipelineRecord]) -> None:
    """Replace the edges of the pipelines by sources times targets of their declarations."""
    await connection.execute(EDGES_GONE, [record.pipeline for record in records])
    await connection.execute(EDGES, rows(edge_rows(records)))


def pipeline_row(record: PipelineRecord) -> dict[str, Any]:
    declared = record.declaration
    schedule = declared.schedule
    return {
        "pipeline": record.pipeline,
        "type": declared.type,
        "active": declared.active,
        "owner": declared.owner,
        "tags": declared.tags,
        "metadata": declared.metadata,
        "freshness_seconds": declared.freshness and declared.freshness.max_age_seconds,
        "timeliness_seconds": declared.timeliness and declared.timeliness.max_duration_seconds,
        "schedule_cron": schedule and schedule.cron,
        "schedule_timezone": schedule and schedule.timezone,
        "schedule_grace_seconds": schedule and schedule.grace_seconds,
        "default_watermark": declared.default_watermark,
        "watermark_kind": declared.watermark_kind,
        "config_hash": config_hash_of(declared),
        "declaration": declared.model_dump(mode="json"),
        "declared_at": declared.occurred_at,
        "revision": record.revision,
    }


def version_rows(records: Iterable[PipelineRecord]) -> list[dict[str, Any]]:
    """One row per pipeline and configuration, spanning all its declarations in `records`."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for record in records:
        declared = record.declaration
        key = (record.pipeline, config_hash_of(declared))
        row = found.setdefault(
            key,
            {
                "pipeline": key[0],
                "config_hash": key[1],
                "declaration": declared.model_dump(mode="json"),
                "first_declared_at": declared.occurred_at,
                "last_declared_at": declared.occurred_at,
                "first_revision": record.revision,
                "last_revision": record.revision,
            },
        )
        row["first_declared_at"] = min(row["first_declared_at"], declared.occurred_at)
        row["last_declared_at"] = max(row["last_declared_at"], declared.occurred_at)
        row["first_revision"] = min(row["first_revision"], record.revision)
        row["last_revision"] = max(row["last_revision"], record.revision)
    return list(found.values())


def type_rows(records: Iterable[PipelineRecord]) -> list[dict[str, Any]]:
    """One row per type; the latest declaration that brings defaults wins."""
    found: dict[str, dict[str, Any]] = {}
    for record in sorted(records, key=lambda one: (one.declaration.occurred_at, one.pipeline)):
        declared = record.declaration
        if declared.type is None:
            continue
        row = found.setdefault(declared.type, {"type": declared.type, "mutes": []})
        if declared.type_defaults is not None:
            defaults = declared.type_defaults
            row |= {
                "freshness_seconds": defaults.freshness and defaults.freshness.max_age_seconds,
                "timeliness_seconds": defaults.timeliness and defaults.timeliness.max_duration_seconds,
                "mutes": [mute.model_dump(mode="json") for mute in defaults.mutes],
                "declared_by": record.pipeline,
                "declared_at": declared.occurred_at,
            }
    return list(found.values())


def dataset_rows(records: Iterable[PipelineRecord]) -> list[dict[str, Any]]:
    found: dict[UUID, dict[str, Any]] = {}
    for record in records:
        at = record.declaration.occurred_at
        for dataset in (*record.declaration.sources, *record.declaration.targets):
            row = found.setdefault(
                dataset_id(dataset),
                {
                    "dataset_id": dataset_id(dataset),
                    "name": dataset.name,
                    "type": dataset.type,
                    "dataset_group": dataset.group,
                    "first_declared_at": at,
                    "last_declared_at": at,
                },
            )
            row["first_declared_at"] = min(row["first_declared_at"], at)
            row["last_declared_at"] = max(row["last_declared_at"], at)
    return list(found.values())


def edge_rows(records: Iterable[PipelineRecord]) -> list[dict[str, Any]]:
    """Every source to every target of each declaration, once."""
    return [
        {
            "source": source,
            "target": target,
            "pipeline": record.pipeline,
            "declared_at": record.declaration.occurred_at,
            "revision": record.revision,
        }
        for record in records
        for source, target in product(
            {dataset_id(one) for one in record.declaration.sources},
            {dataset_id(one) for one in record.declaration.targets},
        )
    ]


def dataset_id(dataset: Dataset) -> UUID:
    """The same id for the same name, type and group, in every database."""
    return uuid5(NAMESPACE_URL, json.dumps(["watchline.dataset", dataset.group, dataset.type, dataset.name]))


def config_hash_of(declared: PipelineDeclared) -> str:
    return declared.config_hash or config_hash(declared)
