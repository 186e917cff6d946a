"""Records for the sink, to bytes and back, and what is no record."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from watchline.schemas import (
    AnomalyRecord,
    BadEvent,
    CommandRecord,
    DeadLetter,
    ExpectedRunRecord,
    IncidentFact,
    IncidentRecord,
    PipelineDeclared,
    PipelineRecord,
    RunError,
    RunRecord,
    SinkRecord,
    WatermarkRecord,
    decode_record,
    encode_record,
    revision_of,
)
from watchline.schemas.records import PulseRecord

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ID = UUID("8f658051-1583-5f8f-9c89-0a918d14d834")
RECORDS: tuple[SinkRecord, ...] = (
    PipelineRecord(
        pipeline="x", revision=1, declaration=PipelineDeclared(event_id=ID, occurred_at=NOW, pipeline="x", tags=("a",))
    ),
    RunRecord(
        pipeline="x",
        revision=revision_of(3, 7),
        run_id=ID,
        started_at=NOW,
        status="failed",
        error=RunError(message="boom"),
        inserts=2**63 - 1,
        metrics={"a": 0.1},
        flags=("clock_skew",),
        labels_started={"team": "sales"},
        metadata_ended={"a": [1, None]},
    ),
    PulseRecord(revision=9, partition=3, at=NOW, events=12),
    CommandRecord(
        pipeline="x",
        revision=4,
        event_id=ID,
        command="feedback.given",
        at=NOW,
        outcome="ignored",
        detail="no such run",
        run_id=ID,
        verdict="expected",
        metrics=("inserts",),
        by="ada@etl-1",
    ),
    WatermarkRecord(
        pipeline="x",
        revision=2,
        event_id=ID,
        kind="integer",
        watermark="1",
        effective="2",
        effective_at=NOW,
        occurred_at=NOW,
        regressed=True,
    ),
    AnomalyRecord(
        pipeline="x",
        revision=3,
        anomaly_id=ID,
        run_id=ID,
        metric="inserts",
        value=1.5,
        expected=None,
        lower=None,
        upper=None,
        score=-9.0,
        limit=4.0,
        baseline_runs=20,
        seasons=("weekday",),
        reason="point",
        rule="inserts",
        run_started_at=NOW,
        run_ended_at=NOW,
    ),
    ExpectedRunRecord(
        pipeline="x",
        revision=5,
        due_at=NOW,
        state="excused",
        reason="excluded",
        timezone="Europe/Berlin",
        grace_seconds=0.5,
        run_id=ID,
        started_at=NOW,
        decided_at=NOW,
        until=NOW,
    ),
    IncidentRecord(
        pipeline="x",
        revision=4,
        incident_id=ID,
        fingerprint="f",
        kind="freshness",
        transition="opened",
        transition_no=1,
        severity="warn",
        at=NOW,
        opened_at=NOW,
        cause_at=NOW,
        title="x is stale",
        facts=(IncidentFact(name="age", value=5.0, limit=3.0, unit="seconds"),),
    ),
    DeadLetter(
        reason="invalid_json",
        detail="d",
        source_topic="t",
        source_partition=0,
        source_offset=9,
        key=None,
        value="AA==",
        headers=(("a", None), ("", "")),
        failed_at=NOW,
    ),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.record_type)
def test_a_record_comes_back_as_it_was(record: SinkRecord) -> None:
    assert decode_record(encode_record(record)) == record


def test_there_is_a_sample_of_every_kind_of_record() -> None:
    assert {type(record) for record in RECORDS} == set(SinkRecord.__args__)


def test_unknown_fields_of_a_record_are_ignored() -> None:
    raw = json.dumps(json.loads(encode_record(RECORDS[1])) | {"later": 1}).encode()

    assert decode_record(raw) == RECORDS[1]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "null_value"),
        (b"", "invalid_json"),
        (b"\xff", "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b"[]", "wrong_type"),
        (b"null", "wrong_type"),
        (b"{}", "missing_field"),
        (b'{"record_type":"slot"}', "unknown_event_type"),
        (b'{"record_type":"run"}', "missing_field"),
        (b'{"record_type":"run","pipeline":1,"revision":1,"run_id":"x"}', "wrong_type"),
    ],
)
def test_what_is_no_record_is_a_bad_event(raw: bytes | None, reason: str) -> None:
    with pytest.raises(BadEvent) as raised:
        decode_record(raw)

    assert raised.value.reason == reason


def test_the_error_names_the_place_and_shows_no_input() -> None:
    with pytest.raises(BadEvent) as raised:
        decode_record(b'{"record_type":"run","pipeline":"x","revision":"password=hunter2","run_id":"x"}')

    assert "revision" in raised.value.detail
    assert "hunter2" not in str(raised.value)
