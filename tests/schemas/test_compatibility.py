"""Which edits of a schema are refused, shown on small schemas."""

from __future__ import annotations

from typing import Any

import pytest

from watchline.schemas import breaking_changes

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
OPTIONAL_TEXT: Schema = {"anyOf": [TEXT, {"type": "null"}], "default": None}


def with_field(schema: Schema, *, required: bool = False) -> Schema:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"] if required else []}


SAFE = {
    "the same": (TEXT, TEXT),
    "another description": (TEXT | {"description": "a"}, TEXT | {"description": "b"}),
    "a wider limit": ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 9}),
    "a lower minimum": ({"type": "integer", "minimum": 5}, {"type": "integer", "minimum": 0}),
    "a limit gone": ({"type": "string", "maxLength": 5}, TEXT),
    "one more value": ({"enum": ["a"]}, {"enum": ["a", "b"]}),
    "a const that became one of several": ({"const": "a"}, {"enum": ["a", "b"]}),
    "integers that became numbers": ({"type": "integer"}, {"type": "number"}),
    "null is now taken too": (TEXT, {"anyOf": [TEXT, {"type": "null"}]}),
    "any type is now taken": (TEXT, {}),
    "an array of types": ({"type": "string"}, {"type": ["string", "null"]}),
    "the same values of a map": ({"additionalProperties": TEXT}, {"additionalProperties": TEXT}),
}
BREAKING = {
    "another type": (TEXT, {"type": "integer"}),
    "numbers that became integers": ({"type": "number"}, {"type": "integer"}),
    "a type where any was taken": ({}, TEXT),
    "null is refused": (OPTIONAL_TEXT, TEXT | {"default": None}),
    "a tighter limit": ({"type": "string", "maxLength": 9}, {"type": "string", "maxLength": 5}),
    "a higher minimum": ({"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 5}),
    "a new limit": (TEXT, {"type": "string", "maxLength": 5}),
    "a new pattern": (TEXT, {"type": "string", "pattern": "^a"}),
    "another format": ({"type": "string", "format": "uuid"}, {"type": "string", "format": "date"}),
    "one value fewer": ({"enum": ["a", "b"]}, {"enum": ["a"]}),
    "values where any was taken": (TEXT, {"type": "string", "enum": ["a"]}),
    "another const": ({"const": 1}, {"const": 2}),
    "another default": (TEXT | {"default": "a"}, TEXT | {"default": "b"}),
    "a default gone": (TEXT | {"default": "a"}, TEXT),
    "other elements": ({"type": "array", "items": TEXT}, {"type": "array", "items": {"type": "integer"}}),
    "elements where any were taken": ({"type": "array"}, {"type": "array", "items": TEXT}),
    "other values of a map": ({"additionalProperties": TEXT}, {"additionalProperties": {"type": "null"}}),
    "a closed object": ({"type": "object"}, {"type": "object", "additionalProperties": False}),
    "fewer alternatives": ({"oneOf": [TEXT, {"type": "integer"}]}, {"oneOf": [TEXT, {"type": "boolean"}]}),
}


@pytest.mark.parametrize("name", SAFE)
def test_a_wider_schema_is_safe(name: str) -> None:
    old, new = SAFE[name]

    assert breaking_changes(with_field(old), with_field(new)) == []


@pytest.mark.parametrize("name", BREAKING)
def test_a_narrower_schema_is_refused_and_its_place_named(name: str) -> None:
    old, new = BREAKING[name]

    found = breaking_changes(with_field(old), with_field(new))

    assert len(found) == 1
    assert found[0].startswith("$.x")


def test_a_removed_property_is_refused() -> None:
    assert breaking_changes(with_field(TEXT), {"type": "object"}) == ["$.x: was removed"]


def test_a_new_optional_property_is_safe() -> None:
    assert breaking_changes({"type": "object"}, with_field(OPTIONAL_TEXT)) == []


def test_a_new_required_property_is_refused() -> None:
    assert breaking_changes({"type": "object"}, with_field(TEXT, required=True)) == ["$.x: is now required"]


def test_a_property_that_becomes_required_is_refused() -> None:
    assert breaking_changes(with_field(TEXT), with_field(TEXT, required=True)) == ["$.x: is now required"]


def test_a_property_that_becomes_optional_is_safe() -> None:
    assert breaking_changes(with_field(TEXT, required=True), with_field(TEXT)) == []


def test_a_change_behind_a_reference_is_found() -> None:
    old = with_field({"$ref": "#/$defs/Part"}) | {"$defs": {"Part": with_field(TEXT)}}
    new = with_field({"$ref": "#/$defs/Part"}) | {"$defs": {"Part": with_field({"type": "integer"})}}

    assert breaking_changes(old, new) == ["$.x.x: no longer takes type string"]


def test_a_definition_under_another_name_is_the_same_schema() -> None:
    old = with_field({"$ref": "#/$defs/Part"}) | {"$defs": {"Part": TEXT}}
    new = with_field({"$ref": "#/$defs/Piece"}) | {"$defs": {"Piece": TEXT}}

    assert breaking_changes(old, new) == []
