"""Events to bytes, and the hash by which a changed declaration is known."""

from __future__ import annotations

import hashlib
import json

from watchline.schemas.events import Event, PipelineDeclared

# What a declaration says about itself; the rest says who sent it, when and under which id.
ENVELOPE = {"event_id", "event_type", "schema_version", "occurred_at", "producer", "config_hash"}


def encode(event: Event) -> bytes:
    """The event as UTF-8 JSON: fields in the model's order, nulls left out, times in UTC."""
    return event.model_dump_json(exclude_none=True).encode()


def config_hash(declaration: PipelineDeclared) -> str:
    """SHA-256, in hex, of what the pipeline declares, lineage included.

    The same declaration gives the same hash in every process and whatever the order of keys; the order within lists
    (tags, mutes, rules, datasets) counts.
    """
    content = declaration.model_dump(mode="json", exclude=ENVELOPE, exclude_none=True)
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
