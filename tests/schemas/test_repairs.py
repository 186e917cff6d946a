"""What the decoder repairs, flags and refuses, one changed field at a time."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from watchline.schemas import BadEvent, Event, Freshness, Mute, Producer, RunError, check_key, decode
from watchline.schemas.decoding.construction import build
from watchline.schemas.decoding.fields import MODELS, OPTIONAL, REQUIRED
from watchline.schemas.topics import MAX_RECORD_BYTES

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
VALID: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "data/valid").glob("*.json")
}


def read(event_type: str = "run.ended", /, **changes: Any) -> Any:
    """The event of a valid document with some fields changed; `Any`, as it may be of each type."""
    event: Event = decode(json.dumps(VALID[event_type] | changes).encode(), now=NOW)
    return event


def refusal(event_type: str = "run.ended", /, **changes: Any) -> BadEvent:
    with pytest.raises(BadEvent) as raised:
        read(event_type, **changes)
    return raised.value


@pytest.mark.parametrize("event_type", VALID)
def test_a_valid_event_of_each_type_is_clean(event_type: str) -> None:
    assert read(event_type).flags == ()


@pytest.mark.parametrize("event_type", VALID)
def test_an_event_is_the_one_that_pydantic_would_build(event_type: str) -> None:
    found = read(event_type)

    assert found == type(found).model_validate(VALID[event_type])
    assert found.model_fields_set <= set(type(found).model_fields)
    assert json.loads(found.model_dump_json()) == json.loads(
        type(found).model_validate(found.model_dump()).model_dump_json()
    )


@pytest.mark.parametrize("event_type", VALID)
def test_an_event_without_optional_fields_has_the_defaults_of_the_model(event_type: str) -> None:
    least = {name: VALID[event_type][name] for name in ("event_type", *REQUIRED[event_type])}

    found: Any = decode(json.dumps(least).encode(), now=NOW)

    assert found == type(found).model_validate({"status": "unknown"} | least | {"flags": found.flags})
    assert set(found.flags) <= {"status_unknown"}


@pytest.mark.parametrize("event_type", MODELS)
def test_the_table_of_checks_holds_every_field_that_travels(event_type: str) -> None:
    travels = {name for name, field in MODELS[event_type].model_fields.items() if not field.exclude}

    assert travels - {"event_type", "schema_version", "status"} == {*REQUIRED[event_type], *OPTIONAL[event_type]}


def test_two_events_never_share_a_map() -> None:
    model = MODELS["run.ended"]

    one, other = build(model, {}), build(model, {})

    assert one.__dict__["labels"] is not other.__dict__["labels"]


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read().status = "succeeded"


@pytest.mark.parametrize("event_type", VALID)
def test_an_event_is_refused_without_each_of_its_required_fields(event_type: str) -> None:
    for name in REQUIRED[event_type]:
        assert refusal(event_type, **{name: None}).reason == "missing_field"


@pytest.mark.parametrize("name", ["event_id", "run_id", "occurred_at", "pipeline"])
@pytest.mark.parametrize("value", [1, 1.5, True, [], {}])
def test_an_identity_field_of_another_type_is_refused_and_named(name: str, value: object) -> None:
    error = refusal(**{name: value})

    assert error.reason == "wrong_type"
    assert f"$.{name} " in error.detail


def test_a_bad_optional_identity_is_refused_too() -> None:
    assert refusal("run.started", parent_run_id="x").reason == "invalid_uuid"
    assert refusal("watermark.advanced", run_id="x").reason == "invalid_uuid"
    assert refusal("watermark.advanced", dataset=7).reason == "wrong_type"
    assert refusal("watermark.advanced", dataset="a\x00b").reason == "wrong_type"


def test_a_run_id_of_digits_only_is_canonical() -> None:
    assert read(run_id="00000000-0000-0000-0000-000000000000").flags == ()


def test_a_watermark_of_the_empty_dataset_is_the_pipeline_s_own() -> None:
    found = read("watermark.advanced", dataset="")

    assert (found.dataset, found.flags) == (None, ("value_dropped",))


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(timedelta(hours=24), None), (timedelta(hours=24, microseconds=1), "timestamp_out_of_range")],
)
def test_an_event_may_be_a_day_ahead_and_no_more(seconds: timedelta, reason: str | None) -> None:
    sent = (NOW + seconds).isoformat()

    if reason is None:
        assert read(occurred_at=sent).flags == ("clock_skew",)
    else:
        assert refusal(occurred_at=sent).reason == reason


def test_an_event_exactly_five_minutes_ahead_is_not_skewed() -> None:
    assert read(occurred_at="2026-11-30T12:05:00Z").flags == ()
    assert read(occurred_at="2026-11-30T12:05:00.000001Z").flags == ("clock_skew",)


def test_the_first_instant_of_2000_is_the_earliest() -> None:
    assert read(occurred_at="2000-01-01T00:00:00Z").occurred_at.year == 2000
    assert refusal(occurred_at="1999-12-31T23:59:59.999999Z").reason == "timestamp_out_of_range"


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30t11:59:00z",
        "2026-11-30T11:59:00.1Z",
        "2026-11-30T11:59:00.123456Z",
        "2026-11-30T23:59:00+12:00",
        "2024-02-29T00:00:00Z",
    ],
)
def test_every_spelling_of_rfc_3339_is_read(text: str) -> None:
    assert read(occurred_at=text).occurred_at.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30T00:00:00Z",
        "2026-11-30T11:59:60Z",
        "2026-W48-1T11:59:00Z",
        "2026-11-30 11:59:00Z",
        "2026-11-30T11:59:00+0100",
        "2026-11-30T11:59:00Z\n",
        "20261130T115900Z",
        "now",
    ],
)
def test_what_is_not_rfc_3339_is_refused(text: str) -> None:
    assert refusal(occurred_at=text).reason == "invalid_timestamp"


@pytest.mark.parametrize(
    "value", ["yesterday", 5, "2026-11-30T11:00:00", "1999-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]
)
def test_an_optional_time_that_cannot_be_used_is_null_and_flagged(value: object) -> None:
    found = read(started_at=value)

    assert (found.started_at, found.flags) == (None, ("time_dropped",))


@pytest.mark.parametrize("value", [-1, 1.5, "5", True, [], 2**63])
@pytest.mark.parametrize("name", ["inserts", "updates", "deletes", "total_rows"])
def test_a_bad_count_is_null_and_flagged(name: str, value: object) -> None:
    found = read(**{name: value})

    assert (getattr(found, name), found.flags) == (None, ("measurement_dropped",))
    assert found.status == "failed"


def test_a_fraction_of_a_millisecond_is_rounded() -> None:
    found = read(duration_ms=4200.7)

    assert (found.duration_ms, found.flags) == (4201, ("number_normalised",))


@pytest.mark.parametrize("value", [0, -1, "2", 2**40, 1.5])
def test_a_bad_attempt_is_the_first(value: object) -> None:
    found = read("run.started", attempt=value)

    assert (found.attempt, found.flags) == (1, ("measurement_dropped",))


@pytest.mark.parametrize("value", [0, -1, "30", True, 10**12])
def test_a_bad_heartbeat_interval_is_null(value: object) -> None:
    found = read("run.started", heartbeat_seconds=value)

    assert (found.heartbeat_seconds, found.flags) == (None, ("measurement_dropped",))


def test_a_good_metric_beside_a_bad_one_is_kept() -> None:
    found = read(metrics={"a": 1, "b": "1", "": 2, "c": None, "d": True, "e\x00": 1, "f" * 201: 1, "g": 10**400})

    assert (found.metrics, found.flags) == ({"a": 1.0}, ("measurement_dropped",))


def test_an_integer_metric_beyond_64_bits_is_a_float() -> None:
    assert read(metrics={"a": 2**70}).metrics == {"a": float(2**70)}


def test_a_metric_of_minus_zero_is_zero() -> None:
    assert str(read(metrics={"a": -0.0}).metrics["a"]) == "0.0"


@pytest.mark.parametrize("place", ["inserts", "duration_ms", "metrics", "labels", "metadata", "error"])
def test_an_infinite_number_is_refused_wherever_it_would_be_kept(place: str) -> None:
    value = "1e400" if place in ("inserts", "duration_ms") else '{"a":1e400}'
    raw = json.dumps(VALID["run.ended"] | {place: "HERE"}).replace('"HERE"', value).encode()

    with pytest.raises(BadEvent) as raised:
        decode(raw, now=NOW)

    assert raised.value.reason == "non_finite_number"
    assert f"$.{place} " in raised.value.detail


def test_metadata_is_cleaned_all_through() -> None:
    found = read(metadata={"a": [{"b": "x\x00y"}, 2**70], "c\x00": "password=hunter2 and more"})

    assert found.metadata == {"a": [{"b": "x\ufffdy"}, None], "c\ufffd": "password=*** and more"}
    assert found.flags == ("measurement_dropped", "secret_masked", "text_cleaned")


def test_of_two_keys_that_cleaning_makes_one_the_same_stays_in_any_order() -> None:
    labels = {"a\x00": "one", "a\ufffd": "two"}

    assert read(labels=labels).labels == read(labels=dict(reversed(labels.items()))).labels
    assert read(metadata=labels).metadata == read(metadata=dict(reversed(labels.items()))).metadata


def test_a_label_of_null_is_left_out_and_flagged() -> None:
    found = read(labels={"a": None, "b": "c"})

    assert (found.labels, found.flags) == ({"b": "c"}, ("labels_repaired",))


@pytest.mark.parametrize("value", [[], "x", 7])
def test_metadata_that_is_no_object_is_left_out(value: object) -> None:
    found = read(metadata=value)

    assert (found.metadata, found.flags) == ({}, ("value_dropped",))


@pytest.mark.parametrize(
    ("error", "expected", "flags"),
    [
        ("boom", RunError(message="boom"), ()),
        ({"type": "E", "message": "m"}, RunError(type="E", message="m"), ()),
        ({"type": None, "message": "m"}, RunError(message="m"), ()),
        ({"message": "m", "more": 1}, RunError(message="m"), ()),
        (["a", 1], RunError(message='["a", 1]'), ("error_converted",)),
        (7, RunError(message="7"), ("error_converted",)),
        ({"type": 7, "message": "m"}, RunError(message='{"message": "m", "type": 7}'), ("error_converted",)),
    ],
)
def test_an_error_of_any_shape_becomes_a_message(error: object, expected: RunError, flags: tuple[str, ...]) -> None:
    found = read(error=error)

    assert (found.error, found.flags) == (expected, flags)


@pytest.mark.parametrize("value", ["true", 1, [], {}])
def test_what_is_no_boolean_falls_back_to_the_default(value: object) -> None:
    assert read("pipeline.declared", active=value).active is True
    assert read(backfill=value).backfill is False
    assert read(backfill=value).flags == ("value_dropped",)


def test_an_unknown_kind_of_watermark_is_opaque_text() -> None:
    found = read("watermark.advanced", kind="vector")

    assert (found.kind, found.flags) == ("text", ("value_dropped",))


def test_a_watermark_is_never_cut_or_masked() -> None:
    assert read("watermark.advanced", watermark="token=abc").watermark == "token=abc"
    assert refusal("watermark.advanced", watermark="x" * 8193).reason == "too_large"
    assert read(next_watermark="x" * 8193).next_watermark is None


def test_feedback_without_a_known_verdict_is_refused() -> None:
    assert refusal("feedback.given", verdict="maybe").reason == "wrong_type"
    assert refusal("feedback.given", verdict=1).reason == "wrong_type"


def test_a_malformed_part_is_left_out_and_the_rest_of_the_declaration_counts() -> None:
    found = read(
        "pipeline.declared",
        freshness={"max_age_seconds": "60"},
        mutes=[{"check": "weather"}, {"check": "all"}, 7],
        timeliness={"max_duration_seconds": -1},
    )

    assert (found.freshness, found.timeliness, found.mutes) == (None, None, (Mute(check="all"),))
    assert found.owner == "sales"
    assert found.flags == ("part_dropped",)


def test_a_mute_whose_end_cannot_be_read_mutes_nothing() -> None:
    for until in ("tomorrow", "2026-12-24T00:00:00", 1796040000):
        assert read("pipeline.declared", mutes=[{"check": "all", "until": until}]).mutes == ()


def test_unknown_fields_of_a_part_are_ignored() -> None:
    found = read("pipeline.declared", freshness={"max_age_seconds": 60, "business_hours": True})

    assert (found.freshness, found.flags) == (Freshness(max_age_seconds=60), ())


def test_lists_of_texts_keep_only_texts() -> None:
    assert read("pipeline.declared", tags=["a", 1, None]).tags == ("a",)
    assert read("pipeline.declared", tags="a").tags == ()
    assert read("pipeline.declared", tags="a").flags == ("value_dropped",)


def test_a_producer_keeps_what_is_usable() -> None:
    found = read(producer={"name": "x", "version": 2, "pid": -5, "host": "h\x00"})

    assert found.producer == Producer(name="x", host="h\ufffd")
    assert found.flags == ("measurement_dropped", "text_cleaned", "value_dropped")
    assert read(producer="x").producer is None


def test_a_producer_seen_before_is_flagged_again() -> None:
    sent = {"name": "x\x00", "pid": 1}

    assert read(producer=sent).flags == read(producer=sent).flags == ("text_cleaned",)


def test_a_process_id_of_true_is_not_taken_for_one_seen_before() -> None:
    assert read(producer={"name": "x", "pid": 1}).producer.pid == 1
    assert read(producer={"name": "x", "pid": True}).producer.pid is None


def test_without_a_version_the_first_is_meant() -> None:
    assert read(schema_version=None).schema_version == 1


@pytest.mark.parametrize(
    ("version", "reason"), [(True, "wrong_type"), ("1", "wrong_type"), ([], "wrong_type"), (2, None), (1.5, None)]
)
def test_another_version_is_refused(version: object, reason: str | None) -> None:
    assert refusal(schema_version=version).reason == (reason or "unsupported_schema_version")


@pytest.mark.parametrize("name", ["a\u200bb", "\u00a0a", "a\u2066b", "a\x7fb", "a\x85b", "\ufeff", "a\ttab"])
def test_a_name_with_invisible_characters_is_refused(name: str) -> None:
    assert refusal(pipeline=name).reason == "invalid_pipeline"


def test_a_family_of_emoji_is_a_name() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

    assert read(pipeline=family).pipeline == family


def test_sixteen_levels_are_read_and_seventeen_are_not() -> None:
    def nested(levels: int) -> Any:
        return {} if levels == 0 else {"a": nested(levels - 1)}

    assert read(metadata=nested(14)).flags == ()
    assert refusal(metadata=nested(15)).reason == "too_deep"


def test_many_shallow_brackets_are_not_deep() -> None:
    assert read(metadata={"a": [[], {}] * 500}).flags == ()


def test_sixty_four_keys_are_read_and_sixty_five_are_not() -> None:
    assert len(read(labels={f"l{n}": "v" for n in range(64)}).labels) == 64
    assert refusal(labels={f"l{n}": "v" for n in range(65)}).reason == "too_many_fields"
    assert refusal(metadata={"a": [{f"l{n}": "v" for n in range(65)}]}).reason == "too_many_fields"
    assert refusal(**{f"unknown{n}": n for n in range(65)}).reason == "too_many_fields"


def test_a_record_of_the_largest_size_is_read() -> None:
    raw = json.dumps(VALID["run.started"]).encode()

    decode(raw.ljust(MAX_RECORD_BYTES), now=NOW)

    with pytest.raises(BadEvent, match="too_large"):
        decode(raw.ljust(MAX_RECORD_BYTES + 1), now=NOW)


def test_a_key_may_be_as_large_as_a_record() -> None:
    check_key(None)
    check_key(b"x" * MAX_RECORD_BYTES)

    with pytest.raises(BadEvent, match="too_large"):
        check_key(b"x" * (MAX_RECORD_BYTES + 1))


def test_of_a_repeated_key_the_last_one_counts_in_both_parsers() -> None:
    raw = json.dumps(VALID["run.ended"]).encode()[:-1] + b',"inserts":1,"inserts":2}'

    fast, strict = decode(raw, now=NOW), decode(b"\xef\xbb\xbf" + raw, now=NOW)

    assert isinstance(fast, MODELS["run.ended"])
    assert fast.model_copy(update={"flags": ()}) == strict.model_copy(update={"flags": ()})
    assert fast.__dict__["inserts"] == 2


def test_a_lone_surrogate_in_an_unknown_field_does_no_harm() -> None:
    raw = json.dumps(VALID["run.ended"]).encode()[:-1] + b',"extra":"\\ud800"}'

    assert decode(raw, now=NOW).flags == ()


def test_flags_do_not_travel() -> None:
    found = read(occurred_at="2026-11-30T12:10:00Z")

    assert found.flags == ("clock_skew",)
    assert "flags" not in json.loads(found.model_dump_json())


def test_an_error_message_shows_little_of_the_input_and_no_secret() -> None:
    long = refusal(event_id="x" * 5000)
    secret = refusal(event_id="postgresql://svc:Sup3rS3cret@db/x")

    assert len(long.detail) < 160
    assert "Sup3rS3cret" not in str(secret)
