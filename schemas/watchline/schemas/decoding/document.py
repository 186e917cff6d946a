"""Bytes to one JSON object: a fast parser for what is clean, a strict one that diagnoses what is not.

The fast parser is pydantic's own, so nothing depends on which JSON library is installed. It refuses more than we must
(a byte order mark, lone surrogates), so a refusal only means that the standard library looks again, with every leniency
of its own switched off. Of a repeated key the last one counts in both.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from pydantic_core import from_json

from watchline.schemas import flags
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.errors import BadEvent
from watchline.schemas.limits import MAX_DEPTH, MAX_KEYS, MAX_NUMBER_LENGTH
from watchline.schemas.topics import MAX_RECORD_BYTES

LEAST_BYTES_OF_A_WIDE_MAP = MAX_KEYS * len('"a":1,')
BOM = b"\xef\xbb\xbf"
LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_NUMBER_LENGTH // 2))
# Possessive, so that a hostile text can't make it backtrack; the closing quote may be missing.
STRING_OR_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+|[\[\]{}]', re.DOTALL)


def read_document(raw: bytes | None, reading: Reading) -> dict[str, Any]:
    """The JSON object in `raw`, within the limits of size, depth and width; BadEvent otherwise."""
    if raw is None:
        raise BadEvent("null_value", "the record has no value (a tombstone)")
    if len(raw) > MAX_RECORD_BYTES:
        raise BadEvent("too_large", f"{len(raw)} bytes; at most {MAX_RECORD_BYTES}")
    # Fewer brackets than the limit can't be nested deeper than it: most records need no scan.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        check_depth(raw)
    document = parse(raw, reading)
    if type(document) is not dict:
        raise BadEvent("not_an_object", f"$ is {type_name(document)}; an event is one JSON object")
    if len(raw) > LEAST_BYTES_OF_A_WIDE_MAP and raw.count(b":") > MAX_KEYS:
        check_widths(document)
    return document


def parse(raw: bytes, reading: Reading) -> Any:
    """The JSON value in `raw`."""
    if len(raw) > MAX_NUMBER_LENGTH and LONG_NUMBER.search(raw):
        return parse_strictly(raw, reading)
    try:
        return from_json(raw, allow_inf_nan=False)
    except ValueError:
        return parse_strictly(raw, reading)


def parse_strictly(raw: bytes, reading: Reading) -> Any:
    """The JSON value in `raw`, or a BadEvent that says what is wrong with the bytes."""
    if raw.startswith(BOM):
        raw = raw[len(BOM) :]
        reading.note(flags.BOM_REMOVED)
    if not raw.strip():
        raise BadEvent("empty_value", "the record's value is empty")
    text = decode_utf8(raw)
    try:
        return json.loads(text, parse_int=read_integer, parse_float=read_float, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise BadEvent("invalid_json", f"character {error.pos}: {error.msg}") from error


def decode_utf8(raw: bytes) -> str:
    """`raw` as text; the standard library's JSON would guess UTF-16 and UTF-32, so this comes first."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadEvent("invalid_utf8", f"byte {error.start}: {error.reason}") from error


def read_integer(literal: str) -> int:
    """An integer of bounded length: Python refuses 4,301 digits with a plain ValueError."""
    check_length(literal)
    return int(literal)


def read_float(literal: str) -> float:
    """A float of bounded length; 1e400 becomes inf, which every user of a number refuses."""
    check_length(literal)
    return float(literal)


def check_length(literal: str) -> None:
    if len(literal) > MAX_NUMBER_LENGTH:
        raise BadEvent("number_too_large", f"a number of {len(literal)} characters; at most {MAX_NUMBER_LENGTH}")


def refuse_constant(literal: str) -> NoReturn:
    raise BadEvent("invalid_json", f"{literal} is not JSON")


def check_depth(raw: bytes) -> None:
    """Refuse brackets nested deeper than the limit, those inside strings aside, before any parser recurses."""
    decode_utf8(raw)
    depth = 0
    for match in STRING_OR_BRACKET.finditer(raw):
        token = match.group()
        if token in b"{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise BadEvent("too_deep", f"nested deeper than {MAX_DEPTH} levels at byte {match.start()}")
        elif token in b"}]":
            depth -= 1


def check_widths(document: dict[str, Any]) -> None:
    """Refuse a map with more keys than the limit, wherever it stands."""
    open_values: list[Any] = [document]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            if len(value) > MAX_KEYS:
                raise BadEvent("too_many_fields", f"a map with {len(value)} keys; at most {MAX_KEYS}")
            open_values.extend(value.values())
        elif isinstance(value, list):
            open_values.extend(value)


NAMES = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


def type_name(value: object) -> str:
    """What JSON calls the type of `value`."""
    return NAMES.get(type(value), "null")
