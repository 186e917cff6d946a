"""The fields of `run.started` and `run.ended`. What can't be read is left out, never the event."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from watchline.schemas.limits import MAX_NAME
from watchline.sdk.cleaning import clean_count, clean_labels, clean_metadata, clean_text, clean_time, clean_watermark
from watchline.sdk.harmless import usable
from watchline.sdk.run_options import RunOptions, read_id

MAX_ATTEMPT = 2**31 - 1


def describe_start(options: RunOptions) -> dict[str, Any]:
    """What the options of a run say about it, nulls included; its parent is also found in WATCHLINE_RUN_ID."""
    known = options.parent_run_id
    parent = read_id(os.environ.get("WATCHLINE_RUN_ID") if known is None else known)
    return {
        "parent_run_id": None if parent is None else str(parent),
        "attempt": read_attempt(options),
        "watermark": None if options.watermark is None else clean_watermark(options.watermark),
        "next_watermark": None if options.next_watermark is None else clean_watermark(options.next_watermark),
        "nominal_at": usable("nominal_at", clean_nominal, options.nominal_at),
        "backfill": read_backfill(options),
        **describe_maps(options.labels, options.metadata),
    }


def describe_maps(labels: object, metadata: object) -> dict[str, Any]:
    """Labels and metadata, None where there are none."""
    return {
        "labels": usable("labels", clean_labels, labels) or None,
        "metadata": usable("metadata", clean_metadata, metadata) or None,
    }


def read_attempt(options: RunOptions) -> int:
    """Which try this is, 1 when it can't be told."""
    attempt = usable("attempt", lambda value: clean_count("attempt", value), options.attempt)
    return min(attempt or 1, MAX_ATTEMPT)


def read_backfill(options: RunOptions) -> bool | None:
    """True for a backfill, else None."""
    return usable("backfill", bool, options.backfill) or None


def clean_nominal(value: object) -> str | None:
    """The slot that a scheduler meant, None for none."""
    return None if value is None else clean_time("nominal_at", value)


def describe_error(error: object) -> Mapping[str, str]:
    """`error` of `run.ended`: the type (with its module unless built in) and the message."""
    if not isinstance(error, BaseException):
        return {"message": clean_text(error)}
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return {"type": clean_text(name, MAX_NAME), "message": clean_text(error)}
