"""Events to bytes, and the hash by which a changed declaration is known."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from watchline.schemas.events import BaseEvent, Event, PipelineDeclared

# What a declaration says about itself; the rest says who sent it, when and under which id.
ENVELOPE = {"event_id", "event_type", "schema_version", "occurred_at", "producer", "config_hash"}


def encode(event: Event) -> bytes:
    """The event as UTF-8 JSON: fields in the model's order, nulls left out, what JSON can't hold as its text.

    Raises ValueError for metadata that contains itself.
    """
    return write(event)


def config_hash(declaration: PipelineDeclared) -> str:
    """SHA-256, in hex, of what the pipeline declares, lineage included.

    The same declaration gives the same hash in every process, whatever the order of keys. Defaults are left out, so
    that a field added later changes no hash. The order within lists (tags, mutes, rules, datasets) counts.
    """
    content = json.loads(write(declaration, exclude=ENVELOPE, exclude_defaults=True))
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def write(event: BaseEvent, *, exclude: set[str] | None = None, exclude_defaults: bool = False) -> bytes:
    """The event, or a part of it, as UTF-8 JSON without nulls."""
    options: dict[str, Any] = {"exclude": exclude, "exclude_defaults": exclude_defaults, "exclude_none": True}
    try:
        return event.model_dump_json(fallback=str, **options).encode()
    except PydanticSerializationError as error:
        if "surrogates" not in str(error):
            raise
        # A file name that is not UTF-8, say: it must not cost the event.
        return to_json(encodable(event.model_dump(**options)), fallback=str, inf_nan_mode="null")


def encodable(value: Any) -> Any:
    """`value` with each lone surrogate, which has no UTF-8, replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encodable(item) for item in value]
    return value
