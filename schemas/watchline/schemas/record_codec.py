"""Records for the sink, to bytes and back."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from watchline.schemas.errors import BadEvent
from watchline.schemas.records import SinkRecord

RECORD: TypeAdapter[SinkRecord] = TypeAdapter(Annotated[SinkRecord, Field(discriminator="record_type")])


def encode_record(record: SinkRecord) -> bytes:
    """The record as UTF-8 JSON."""
    return RECORD.dump_json(record, exclude_none=True)


def decode_record(raw: bytes | None) -> SinkRecord:
    """The record in `raw`; BadEvent when it is none of ours."""
    if raw is None:
        raise BadEvent("null_value", "the record has no value (a tombstone)")
    try:
        return RECORD.validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise BadEvent(reason_of(first["type"]), f"$.{place}: {first['msg'][:80]}") from None


def reason_of(fault: str) -> str:
    """Our reason code for pydantic's name of a fault."""
    if fault == "json_invalid":
        return "invalid_json"
    if fault in ("missing", "union_tag_not_found"):
        return "missing_field"
    return "unknown_event_type" if fault == "union_tag_invalid" else "wrong_type"
