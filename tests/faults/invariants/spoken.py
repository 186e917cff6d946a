"""What the streams said: the records of the output topics, as the snapshots are held against them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson
from aiokafka import TopicPartition

from faults.invariants.moments import Said
from faults.invariants.tails import Tail
from watchline.schemas import Topics


async def said_in(
    bootstrap_servers: str, topics: Topics, pipelines: Collection[str] | None = None
) -> dict[TopicPartition, list[Said]]:
    """Runs, anomalies, incidents and dead letters in the log; only those of `pipelines` if these are given."""
    log: dict[TopicPartition, list[Said]] = {}
    async for place, records in Tail(bootstrap_servers, topics.outputs).read():
        said = (read(record.offset, orjson.loads(record.value)) for record in records)
        log.setdefault(place, []).extend(
            one for one in said if one and (pipelines is None or not one.pipeline or one.pipeline in pipelines)
        )
    return log


def read(offset: int, record: dict[str, Any]) -> Said | None:
    """What one record says; None for what is not counted."""
    pipeline, revision = record.get("pipeline", ""), record.get("revision", 0)
    match record["record_type"]:
        case "run":
            return Said(offset, "run", pipeline, record["run_id"], revision)
        case "anomaly":
            return Said(offset, "anomaly", pipeline, record["anomaly_id"])
        case "incident":
            return Said(offset, "transition", pipeline, (record["incident_id"], record["transition_no"]))
        case "dead_letter":
            source = (record["source_topic"], record["source_partition"], record["source_offset"])
            return Said(offset, "letter", "", source)
    return None
