"""Events as bytes, and the hash of a declaration."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from watchline.schemas import (
    AnomalyRule,
    Dataset,
    Freshness,
    PipelineDeclared,
    Producer,
    RunEnded,
    RunHeartbeat,
    config_hash,
    decode,
    encode,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ID = UUID("8f658051-1583-5f8f-9c89-0a918d14d834")


def declaration(**changes: Any) -> PipelineDeclared:
    fields: dict[str, Any] = {
        "event_id": ID,
        "occurred_at": NOW,
        "pipeline": "orders_daily",
        "owner": "sales",
        "metadata": {"a": 1, "b": {"c": 2, "d": 3}},
        "freshness": Freshness(max_age_seconds=60),
        "anomaly_rules": (AnomalyRule(metric="inserts"),),
        "sources": (Dataset(name="crm.orders"),),
    }
    return PipelineDeclared(**(fields | changes))


def test_nulls_and_what_stays_inside_are_not_written() -> None:
    event = RunEnded(
        event_id=ID, run_id=ID, occurred_at=NOW, pipeline="x", status="unknown", reported_status="odd", flags=("a",)
    )

    written = json.loads(encode(event))

    assert None not in written.values()
    assert not {"flags", "reported_status"} & set(written)


def test_a_null_inside_metadata_is_kept() -> None:
    assert json.loads(encode(declaration(metadata={"a": None})))["metadata"] == {"a": None}


def test_letters_are_written_as_utf_8() -> None:
    assert "é🚀".encode() in encode(RunHeartbeat(event_id=ID, run_id=ID, occurred_at=NOW, pipeline="é🚀"))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("caf\udce9", "caf\ufffd"),
        (float("nan"), None),
        (ID, str(ID)),
        (RuntimeError("boom"), "boom"),
        ({"\ud800": 1}, {"\ufffd": 1}),
    ],
)
def test_what_json_cannot_hold_is_written_all_the_same(value: object, kept: object) -> None:
    event = declaration(metadata={"a": value, "b": "\ud83d\ude80"})

    found: Any = decode(encode(event), now=NOW)

    assert found.metadata["a"] == kept


def test_metadata_that_contains_itself_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle

    with pytest.raises(ValueError, match=r"[Cc]ircular"):
        encode(declaration(metadata=circle))


def test_a_time_without_an_offset_cannot_be_sent() -> None:
    with pytest.raises(ValueError, match="timezone"):
        declaration(occurred_at=datetime(2026, 11, 30))  # noqa: DTZ001 - the point of the test


def test_the_hash_is_the_same_in_another_process() -> None:
    code = (
        "import sys; from datetime import UTC, datetime; from watchline.schemas import config_hash, decode; "
        "print(config_hash(decode(sys.stdin.buffer.read(), now=datetime(2026, 11, 30, 12, tzinfo=UTC))))"
    )

    found = subprocess.run([sys.executable, "-c", code], input=encode(declaration()), capture_output=True, check=True)

    assert found.stdout.decode().strip() == config_hash(declaration())


def test_the_hash_does_not_depend_on_who_sent_the_declaration_and_when() -> None:
    other = declaration(
        event_id=UUID(int=1), occurred_at=datetime(2020, 1, 1, tzinfo=UTC), producer=Producer(pid=1), config_hash="x"
    )

    assert config_hash(other) == config_hash(declaration())
    assert config_hash(declaration(metadata={"b": {"d": 3, "c": 2}, "a": 1})) == config_hash(declaration())


def test_the_hash_does_not_depend_on_whether_a_default_is_spelled_out() -> None:
    assert config_hash(declaration(active=True, tags=())) == config_hash(declaration())


@pytest.mark.parametrize(
    "change",
    [
        {"pipeline": "other"},
        {"owner": None},
        {"active": False},
        {"metadata": {}},
        {"freshness": Freshness(max_age_seconds=61)},
        {"anomaly_rules": ()},
        {"sources": (Dataset(name="crm.customers"),)},
        {"targets": (Dataset(name="crm.orders"),)},
        {"default_watermark": "1"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_hash_changes_with_what_is_declared_lineage_included(change: dict[str, Any]) -> None:
    assert config_hash(declaration(**change)) != config_hash(declaration())


def test_the_hash_is_known() -> None:
    least = PipelineDeclared(event_id=ID, occurred_at=NOW, pipeline="x")

    assert config_hash(least) == "b702c6ea2da556c7abf54847367311e8ee79ff1a708b4e3ae44ad0b4e16fd1ec"
