"""What an edit of a JSON Schema breaks.

Readers are upgraded before writers and the log keeps old events, so an edit is safe when every document of the old
schema is one of the new schema and means the same. Adding an optional property is; that is nearly all that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

# A limit from below may only fall, one from above only rise.
LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
FIXED = ("pattern", "format", "multipleOf", "uniqueItems")
ALTERNATIVES = ("anyOf", "oneOf")


def breaking_changes(old_schema: Schema, new_schema: Schema) -> list[str]:
    """What `new_schema` breaks, as sentences that begin with a JSON path; empty when nothing."""
    return list(Comparison(old_schema, new_schema).changes(old_schema, new_schema, "$"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two schemas, each the home of its own `$defs`."""

    old_root: Schema
    new_root: Schema

    def changes(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        """What breaks between two schemas at one place."""
        old, new = resolve(old, self.old_root), resolve(new, self.new_root)
        if "default" in old and old["default"] != new.get("default"):
            yield f"{place}: the default changed from {old['default']!r} to {new.get('default')!r}"
        if len(options(old)) > 1 or len(options(new)) > 1:
            yield from self.lost_options(old, new, place)
            return
        old, new = resolve(options(old)[0], self.old_root), resolve(options(new)[0], self.new_root)
        yield from narrowed_types(old, new, place)
        yield from narrowed_values(old, new, place)
        yield from narrowed_limits(old, new, place)
        yield from self.narrowed_properties(old, new, place)
        yield from self.narrowed_children(old, new, place)

    def lost_options(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        """Each alternative of the old schema that no alternative of the new one takes in."""
        for option in options(old):
            attempts = [list(self.changes(option, other, place)) for other in options(new)]
            if all(attempts):
                closest = min(attempts, key=len)
                yield f"{place}: no longer takes {describe(option)} ({closest[0]})"

    def narrowed_properties(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        """Removed, newly required and changed properties."""
        known, remaining = old.get("properties", {}), new.get("properties", {})
        for name in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
            yield f"{place}.{name}: is now required"
        for name, schema in known.items():
            if name not in remaining:
                yield f"{place}.{name}: was removed"
            else:
                yield from self.changes(schema, remaining[name], f"{place}.{name}")

    def narrowed_children(self, old: Schema, new: Schema, place: str) -> Iterator[str]:
        """Changed elements of lists and values of maps."""
        for keyword, step in (("items", "[]"), ("additionalProperties", ".*")):
            before, after = old.get(keyword, True), new.get(keyword, True)
            if before is False or after is True:
                continue
            if after is False:
                yield f"{place}{step}: is no longer allowed"
            elif before is True:
                yield f"{place}{step}: is now restricted"
            else:
                yield from self.changes(before, after, f"{place}{step}")


def resolve(schema: Schema, root: Schema) -> Schema:
    """The schema that `$ref` points to, with what stands beside the `$ref`."""
    if "$ref" not in schema:
        return schema
    target: Any = root
    for step in schema["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
    return resolve(target, root) | beside


def options(schema: Schema) -> list[Schema]:
    """The alternatives of a schema; itself when there are none."""
    for keyword in ALTERNATIVES:
        if keyword in schema:
            found: list[Schema] = schema[keyword]
            return found
    return [schema]


def types(schema: Schema) -> set[str] | None:
    """The JSON types that a schema takes; None means any."""
    found = schema.get("type")
    if found is None:
        return None
    return {found} if isinstance(found, str) else set(found)


def values(schema: Schema) -> list[Any] | None:
    """The values that a schema takes; None means any."""
    return [schema["const"]] if "const" in schema else schema.get("enum")


def narrowed_types(old: Schema, new: Schema, place: str) -> Iterator[str]:
    """A type that is no longer taken; every integer is a number."""
    before, after = types(old), types(new)
    if after is None or before == after:
        return
    if before is None:
        yield f"{place}: must now be {' or '.join(sorted(after))}"
        return
    for lost in sorted(before - after):
        if not (lost == "integer" and "number" in after):
            yield f"{place}: no longer takes type {lost}"


def narrowed_values(old: Schema, new: Schema, place: str) -> Iterator[str]:
    """A value that is no longer taken."""
    before, after = values(old), values(new)
    if after is None:
        return
    if before is None:
        yield f"{place}: must now be one of {after!r}"
        return
    for lost in before:
        if lost not in after:
            yield f"{place}: no longer takes {lost!r}"


def narrowed_limits(old: Schema, new: Schema, place: str) -> Iterator[str]:
    """A limit that is new or tighter, a pattern or format that is new or another."""
    for keyword in (*LOWER, *UPPER, *FIXED):
        before, after = old.get(keyword), new.get(keyword)
        if after is None or before == after:
            continue
        if before is None:
            yield f"{place}: {keyword} {after!r} is new"
        elif keyword in FIXED or (after > before) == (keyword in LOWER):
            yield f"{place}: {keyword} changed from {before!r} to {after!r}"


def describe(schema: Schema) -> str:
    """A schema in a word or two."""
    found = schema.get("$ref", schema.get("const", schema.get("type", "anything")))
    return str(found).rpartition("/")[2]
