"""Pipelines as code: what is declared, what is left out, and the hash by which a change is known."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from watchline.schemas import PipelineDeclared, config_hash, decode
from watchline.schemas import declaration as contract
from watchline.sdk import AnomalyRule, Dataset, Mute, Pipeline, PipelineType, Retries, Schedule
from watchline.sdk.declaration import describe
from watchline.sdk.duration import read_duration
from watchline.sdk.testing import record

NOW = datetime.now(UTC)
FULL: dict[str, Any] = {
    "name": "  orders_daily ",
    "type": PipelineType("extraction", freshness="1d", timeliness=timedelta(hours=1), mutes=("anomaly",)),
    "owner": "sales",
    "tags": ("a", "ü"),
    "metadata": {"repo": "x", "since": datetime(2026, 1, 1, tzinfo=UTC).date(), "deep": {"n": [1, 2.5, None]}},
    "freshness": "24h",
    "timeliness": 1800,
    "schedule": Schedule("0 3 * * *", "Europe/Berlin", "10m"),
    "keep_firing": {"failure": "10m", "freshness": 0},
    "mutes": (Mute("failure", until=datetime(2027, 1, 1, 12, tzinfo=UTC), reason="known"), "freshness"),
    "anomaly_rules": (AnomalyRule("inserts", z_limit=5, min_runs=20), AnomalyRule("*", active=False)),
    "sources": ("s3://raw", Dataset("orders", "postgres", "warehouse")),
    "targets": (Dataset("orders_clean"),),
    "default_watermark": datetime(2026, 1, 1, tzinfo=UTC),
    "watermark_kind": "timestamp",
}


def declare(**options: Any) -> PipelineDeclared:
    client, recorder = record()
    with client.pipeline(Pipeline(**options)).run():
        pass
    event = recorder.events[0]
    assert isinstance(event, PipelineDeclared)
    return event


def test_a_full_declaration_needs_no_repair() -> None:
    event = declare(**FULL)

    assert event.flags == ()
    assert event.pipeline == "orders_daily"
    assert event.type == "extraction"
    assert event.type_defaults is not None
    assert event.type_defaults.freshness == contract.Freshness(max_age_seconds=86_400)
    assert event.timeliness == contract.Timeliness(max_duration_seconds=1800)
    assert event.schedule == contract.Schedule(cron="0 3 * * *", timezone="Europe/Berlin", grace_seconds=600)
    assert [mute.check for mute in event.mutes] == ["failure", "freshness"]
    assert event.anomaly_rules[0].z_limit == 5.0
    assert event.sources[1] == contract.Dataset(name="orders", type="postgres", group="warehouse")
    assert event.default_watermark == "2026-01-01T00:00:00+00:00"
    assert event.metadata["since"] == "2026-01-01"


@pytest.mark.parametrize("options", [FULL, {"name": "p"}, {"name": "ü", "active": False, "freshness": 0.5}])
def test_the_hash_is_that_of_the_contract(options: dict[str, Any]) -> None:
    event = declare(**options)

    assert event.config_hash == config_hash(event)


def test_the_hash_is_the_same_in_every_process() -> None:
    code = (
        "from watchline.sdk import Pipeline, Dataset; from watchline.sdk.declaration import describe;"
        "print(describe(Pipeline(name='p', tags=['a','b'], metadata={'x': 1, 'y': set('abcdef')}, sources=['s'])))"
    )

    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            text=True,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }

    assert len(printed) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"owner": "x"},
        {"targets": ["t"]},
        {"freshness": "2h"},
        {"active": False},
        {"tags": ["t"]},
        {"schedule": "0 1 * * *"},
    ],
)
def test_every_change_changes_the_hash(change: dict[str, Any]) -> None:
    assert describe(Pipeline(name="p"))["config_hash"] != describe(Pipeline(name="p", **change))["config_hash"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("24h", 86_400), ("30m", 1800), ("90", 90), ("1d12h", 129_600), ("1.5h", 5400), (" 2 W ", 1_209_600),
        (timedelta(minutes=1), 60), (3, 3), (0.5, 0.5),
    ],
)  # fmt: skip
def test_durations_are_read_as_people_write_them(text: object, seconds: float) -> None:
    assert read_duration("freshness", text) == seconds


@pytest.mark.parametrize("value", ["soon", "", "1x", "h", -1, 0, float("nan"), float("inf"), True, [], "1h?"])
def test_a_wrong_duration_is_left_out_with_one_warning(value: object, caplog: pytest.LogCaptureFixture) -> None:
    assert read_duration("freshness", value) is None
    assert read_duration("freshness", value) is None

    assert [record.levelno for record in caplog.records if record.levelno >= logging.WARNING] == [logging.WARNING]


@pytest.mark.parametrize(
    "wrong",
    [
        {"schedule": "every day"}, {"schedule": Schedule("0 3 * * *", "Mars/Base")}, {"mutes": ["everything"]},
        {"mutes": [Mute("all", until=datetime(2027, 1, 1))]},  # noqa: DTZ001 - a time without an offset is the case
        {"anomaly_rules": [AnomalyRule("x", z_limit=99)]}, {"anomaly_rules": [AnomalyRule("x", scale="cubic")]},  # type: ignore[arg-type]
        {"sources": [Dataset("")]}, {"sources": "not a list"}, {"tags": 5}, {"metadata": [1]}, {"mutes": [17]},
        {"watermark_kind": "colour"}, {"freshness": "soon"},
    ],
)  # fmt: skip
def test_what_is_wrong_is_left_out_and_the_rest_counts(wrong: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    event = declare(name="p", owner="sales", **wrong)

    assert event.flags == ()
    assert event.model_dump(exclude=ENVELOPE) == declare(name="p", owner="sales").model_dump(exclude=ENVELOPE)
    assert any(record.levelno == logging.WARNING for record in caplog.records)


ENVELOPE = {"event_id", "occurred_at", "producer"}


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "a\nb", "\u202ename", "\ud800", 5, None])
def test_a_pipeline_without_a_usable_name_is_not_reported(name: Any, caplog: pytest.LogCaptureFixture) -> None:
    client, recorder = record()

    with client.pipeline(Pipeline(name=name)).run() as run:
        run.add(inserts=1)

    assert recorder.messages == []
    assert "not reported" in caplog.text


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(AnomalyRule, contract.AnomalyRule), (Dataset, contract.Dataset), (Mute, contract.Mute)],
)
def test_the_parts_are_those_of_the_contract(ours: type[Any], theirs: type[BaseModel]) -> None:
    mine = {field.name: field.default for field in fields(ours)}

    assert list(mine) == list(theirs.model_fields)
    for name, field in theirs.model_fields.items():
        assert field.is_required() or mine[name] == field.default


def test_parts_may_be_those_of_the_contract_itself() -> None:
    rule, place = contract.AnomalyRule(metric="rows", z_limit=4), contract.Dataset(name="orders", type="s3")

    event = declare(name="p", anomaly_rules=[rule], sources=[place, {"name": "x"}])

    assert event.anomaly_rules == (rule,)
    assert event.sources == (place, contract.Dataset(name="x"))


def test_a_process_declares_a_pipeline_once() -> None:
    client, recorder = record()
    first, same, changed = (client.pipeline(Pipeline(name="p", owner=owner)) for owner in ("a", "a", "b"))

    for pipeline in (first, first, same, changed, changed):
        with pipeline.run():
            pass

    declared = [event for event in recorder.raw if event["event_type"] == "pipeline.declared"]
    assert [event["owner"] for event in declared] == ["a", "b"]
    assert recorder.raw[0] == declared[0]


def test_the_declaration_survives_the_wire() -> None:
    client, recorder = record()
    with client.pipeline(Pipeline(**FULL)).run():
        pass

    decoded = decode(recorder.messages[0].value, now=NOW + timedelta(seconds=60))

    assert isinstance(decoded, PipelineDeclared)
    assert decoded.config_hash == client.pipeline(Pipeline(**FULL)).config_hash


def test_what_is_kept_firing_says_so_by_kind_and_what_is_wrong_in_it_is_left_out() -> None:
    pipeline = Pipeline(name="x", keep_firing={"failure": "10m", "freshness": 0, "lost": "1m", "anomaly": "soon"})

    assert describe(pipeline)["keep_firing"] == [
        {"check": "failure", "seconds": 600.0},
        {"check": "freshness", "seconds": 0.0},
    ]


@pytest.mark.parametrize(
    ("retries", "declared"),
    [
        (2, {"limit": 2}),
        (Retries(2, wait="15m"), {"limit": 2, "wait_seconds": 900.0}),
        (
            contract.Retries(limit=3, wait_seconds=60, alert_each=True),
            {"limit": 3, "wait_seconds": 60.0, "alert_each": True},
        ),
        (0, None),
        (-1, None),
        (2.5, None),
        ("often", None),
        (object(), None),
    ],
)
def test_retries_that_say_nothing_cost_nothing_else(retries: Any, declared: dict[str, Any] | None) -> None:
    described = describe(Pipeline(name="x", retries=retries))

    assert (described["pipeline"], described.get("retries")) == ("x", declared)
