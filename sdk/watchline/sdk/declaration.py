"""What a pipeline says about itself, turned into `pipeline.declared`.

Nothing is refused with an exception; what is wrong is left out and logged once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from watchline.schemas.limits import MAX_NAME
from watchline.sdk.cleaning import clean_json, clean_metadata, clean_name, clean_text, clean_watermark
from watchline.sdk.definition import Pipeline, PipelineType
from watchline.sdk.harmless import usable, warn_once
from watchline.sdk.limits import read_freshness, read_timeliness
from watchline.sdk.parts import (
    read_choice,
    read_dataset,
    read_keep_firing,
    read_mute,
    read_retries,
    read_rule,
    read_schedule,
    read_text,
    without_defaults,
)

KINDS = ("timestamp", "integer", "text")
DEFAULTS: dict[str, Any] = {
    "active": True,
    "tags": [],
    "metadata": {},
    "mutes": [],
    "keep_firing": [],
    "anomaly_rules": [],
    "sources": [],
    "targets": [],
    "watermark_kind": "text",
}


def describe(pipeline: Pipeline) -> dict[str, Any]:
    """The fields of `pipeline.declared`, `config_hash` included, without nulls and defaults."""
    content = without_defaults(_content(pipeline), DEFAULTS)
    return content | {"active": content.get("active", True), "config_hash": hash_content(content)}


def hash_content(content: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON: the same figure as `watchline.schemas.config_hash` of the decoded event."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _content(pipeline: Pipeline) -> dict[str, Any]:
    kind = pipeline.type
    default = pipeline.default_watermark
    return {
        "pipeline": clean_name("pipeline", pipeline.name),
        "type": read_text(kind.name if isinstance(kind, PipelineType) else kind),
        "type_defaults": _type_defaults(kind) if isinstance(kind, PipelineType) else None,
        "active": usable("active", bool, pipeline.active) is not False,
        "owner": read_text(pipeline.owner),
        "tags": [clean_text(tag, MAX_NAME) for tag in _listed("tags", pipeline.tags)],
        "metadata": clean_metadata(pipeline.metadata),
        "freshness": read_freshness(pipeline.freshness),
        "timeliness": read_timeliness(pipeline.timeliness),
        "retries": read_retries(pipeline.retries),
        "schedule": read_schedule(pipeline.schedule),
        "mutes": _parts("mutes", pipeline.mutes, read_mute),
        "keep_firing": _parts("keep_firing", _pairs(pipeline.keep_firing), read_keep_firing),
        "anomaly_rules": _parts("anomaly_rules", pipeline.anomaly_rules, read_rule),
        "sources": _parts("sources", pipeline.sources, read_dataset),
        "targets": _parts("targets", pipeline.targets, read_dataset),
        "default_watermark": None if default is None else clean_watermark(default),
        "watermark_kind": "text" if pipeline.watermark_kind is None else _kind(pipeline.watermark_kind),
    }


def _kind(value: object) -> str:
    return read_choice("watermark_kind", value, KINDS) or "text"


def _type_defaults(kind: PipelineType) -> dict[str, Any]:
    found = {
        "freshness": read_freshness(kind.freshness),
        "timeliness": read_timeliness(kind.timeliness),
        "mutes": _parts("mutes", kind.mutes, read_mute),
        "keep_firing": _parts("keep_firing", _pairs(kind.keep_firing), read_keep_firing),
    }
    return without_defaults(found, {"mutes": [], "keep_firing": []})


def _pairs(value: object) -> list[Any] | object:
    """The entries of a mapping; what is none is said to be no list."""
    return list(value.items()) if isinstance(value, Mapping) else value


def _listed(name: str, values: object) -> list[Any]:
    if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping):
        return usable(name, list, values) or []
    if values is not None:
        warn_once(f"{name} list", "%s must be a list and is left out: %.200r", name, values)
    return []


def _parts(name: str, values: object, read: Callable[[Any], dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Each part that can be read; one that can't costs neither the others nor the declaration."""
    found = (usable(f"one of {name}", read, value) for value in _listed(name, values))
    return [clean_json(part) for part in found if part is not None]
