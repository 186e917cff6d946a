"""Identity fields: never rewritten, only brought into the one spelling of the same UUID."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from pydantic_core import SchemaValidator, core_schema

from watchline.schemas import flags
from watchline.schemas.decoding.document import type_name
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.decoding.texts import quote
from watchline.schemas.errors import BadEvent
from watchline.schemas.limits import MAX_DATASET, MAX_NAME

# uuid.UUID() takes misplaced hyphens and full-width digits; two readers would disagree on what they mean.
CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch
SAME_UUID = re.compile(
    r"(?i:urn:uuid:)?(?:\{[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32})"
).fullmatch
# Controls, line separators, bidirectional overrides, invisible marks and lone surrogates: a name that shows as another.
FORBIDDEN_IN_NAME = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
).search
to_uuid = SchemaValidator(core_schema.uuid_schema()).validate_python  # five times as fast as uuid.UUID()


def check_uuid(value: Any, name: str, reading: Reading) -> UUID:
    """A UUID in one of its usual spellings."""
    if type(value) is not str:
        raise wrong_type(name, value, "a UUID in text")
    if CANONICAL(value):
        found: UUID = to_uuid(value)
        return found
    if not SAME_UUID(value):
        raise BadEvent("invalid_uuid", f"$.{name} is no UUID: {quote(value)}")
    reading.note(flags.UUID_CANONICALISED)
    return UUID(value)


def check_pipeline(value: Any, name: str, _reading: Reading) -> str:
    """A pipeline name, byte for byte as sent."""
    if type(value) is not str:
        raise wrong_type(name, value, "a text")
    if not 0 < len(value) <= MAX_NAME:
        raise BadEvent("invalid_pipeline", f"$.{name} has {len(value)} characters; 1 to {MAX_NAME} are allowed")
    if value.isascii() and value.isprintable() and value[0] != " " and value[-1] != " ":
        return value
    if value.strip() != value:
        raise BadEvent("invalid_pipeline", f"$.{name} begins or ends with white space: {quote(value)}")
    if FORBIDDEN_IN_NAME(value):
        raise BadEvent("invalid_pipeline", f"$.{name} holds control or invisible characters: {quote(value)}")
    return value


def check_dataset(value: Any, name: str, reading: Reading) -> str | None:
    """The dataset that a watermark belongs to; an empty one means the pipeline itself, as null does."""
    if type(value) is not str:
        raise wrong_type(name, value, "a text")
    if not value:
        reading.note(flags.VALUE_DROPPED)
        return None
    if len(value) > MAX_DATASET or FORBIDDEN_IN_NAME(value):
        raise BadEvent("wrong_type", f"$.{name} must be a name of at most {MAX_DATASET} visible characters")
    return value


def wrong_type(name: str, value: object, expected: str) -> BadEvent:
    """The error for a field of another JSON type than it must have."""
    return BadEvent("wrong_type", f"$.{name} is {type_name(value)}; it must be {expected}")
