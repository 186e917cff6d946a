"""What holds for all bytes and all events, tried on generated ones."""

from __future__ import annotations

import json
import os
import string
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzing.targets import REASONS
from watchline.schemas import (
    FLAGS,
    AnomalyRule,
    BadEvent,
    CompleteBy,
    Dataset,
    DoneBy,
    Event,
    FeedbackGiven,
    Freshness,
    Mute,
    PipelineDeclared,
    Producer,
    RunEnded,
    RunError,
    RunHeartbeat,
    RunStarted,
    Schedule,
    Timeliness,
    TypeDefaults,
    WatermarkAdvanced,
    decode,
    decode_record,
    encode,
)

thoroughly = settings(deadline=None, database=None, max_examples=int(os.environ.get("WATCHLINE_TEST_EXAMPLES", "150")))

T = TypeVar("T")
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
VALID = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "data/valid").glob("*.json"))]


def attempt(read: Callable[[], T]) -> T | BadEvent:
    """What `read` gives or refuses; any other error passes through and fails the test."""
    try:
        return read()
    except BadEvent as error:
        return error


def outcome(raw: bytes) -> Event | tuple[str, str]:
    """The event, which pydantic would take too, or the reason and detail of the refusal."""
    event = attempt(lambda: decode(raw, now=NOW))
    if isinstance(event, BadEvent):
        assert event.reason in REASONS
        assert len(event.detail) < 250
        return event.reason, event.detail
    assert set(event.flags) <= set(FLAGS)
    assert event == type(event).model_validate(event.model_dump() | inside(event))
    return event


def inside(event: Event) -> dict[str, Any]:
    """The fields that are never written."""
    return {name: getattr(event, name) for name, field in type(event).model_fields.items() if field.exclude}


# Any JSON, with the values that parsers and databases dislike.
odd_texts = st.sampled_from(["", "\x00", "\ud800", "\u202e", "NaN", "9" * 400, "x" * 9000, "2026-11-30", "token=abc"])
odd_numbers = st.sampled_from([0, -0.0, -1, 1.5, 1e308, 2**53 + 1, 2**63, 2**70, 10**400, float("inf"), float("nan")])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | odd_texts | odd_numbers
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5) | odd_texts, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def bent_documents(draw: st.DrawFn) -> dict[str, Any]:
    """A valid event with up to three fields replaced, removed or added."""
    document: dict[str, Any] = dict(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(sorted(document)) | st.text(max_size=5))
        if draw(st.booleans()):
            document[name] = draw(trees)
        else:
            document.pop(name, None)
    return document


@st.composite
def bent_bytes(draw: st.DrawFn) -> bytes:
    """The bytes of a valid event with a slice replaced."""
    raw = json.dumps(draw(st.sampled_from(VALID))).encode()
    start = draw(st.integers(0, len(raw)))
    end = draw(st.integers(start, min(len(raw), start + 40)))
    return raw[:start] + draw(st.binary(max_size=12)) + raw[end:]


@thoroughly
@given(st.binary(max_size=400))
def test_any_bytes_give_an_event_or_a_bad_event(raw: bytes) -> None:
    outcome(raw)


@thoroughly
@given(bent_bytes())
def test_bent_bytes_give_an_event_or_a_bad_event(raw: bytes) -> None:
    outcome(raw)


@thoroughly
@given(trees)
def test_any_json_gives_an_event_or_a_bad_event(tree: Any) -> None:
    outcome(json.dumps(tree).encode())


@thoroughly
@given(bent_documents())
def test_a_bent_event_gives_an_event_or_a_bad_event(document: dict[str, Any]) -> None:
    outcome(json.dumps(document).encode())


@thoroughly
@given(bent_documents(), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(document: dict[str, Any], random: Any) -> None:
    names = list(document)
    random.shuffle(names)

    one = outcome(json.dumps({name: document[name] for name in names}).encode())
    other = outcome(json.dumps(document).encode())

    if isinstance(one, tuple) and isinstance(other, tuple):
        assert one[0] == other[0]  # the reason; where the bytes stop being JSON does depend on the order
    else:
        assert one == other


@thoroughly
@given(bent_documents())
def test_a_repaired_event_is_clean_when_it_is_sent_again(document: dict[str, Any]) -> None:
    repaired = outcome(json.dumps(document).encode())

    if not isinstance(repaired, tuple):
        again = decode(encode(repaired), now=NOW)
        assert set(again.flags) <= {"clock_skew", "watermark_ahead"}
        assert again.model_dump() == repaired.model_dump()


@thoroughly
@given(bent_documents())
def test_both_parsers_agree(document: dict[str, Any]) -> None:
    raw = json.dumps(document).encode()

    fast, strict = outcome(raw), outcome(b"\xef\xbb\xbf" + raw)

    if isinstance(fast, tuple) or isinstance(strict, tuple):
        assert fast == strict
    else:
        assert strict.flags == tuple(sorted({*fast.flags, "bom_removed"}))
        assert strict.model_dump() == fast.model_dump()


@thoroughly
@given(st.binary(max_size=200) | trees.map(lambda tree: json.dumps(tree).encode()))
def test_any_bytes_give_a_record_or_a_bad_event(raw: bytes) -> None:
    found = attempt(lambda: decode_record(raw))

    assert not isinstance(found, BadEvent) or found.reason in REASONS


# Events as the SDK makes them: within the limits, without secrets.
letters = string.ascii_letters + string.digits + "éß漢🚀_-./"
names = st.text(letters, min_size=1, max_size=30)
times = st.datetimes(datetime(2000, 1, 2), datetime(2026, 11, 30, 11), timezones=st.just(UTC))  # noqa: DTZ001 - zone apart
counts = st.none() | st.integers(0, 2**63 - 1)
seconds = st.floats(1e-3, 1e8)
label_maps = st.dictionaries(names, names, max_size=5)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
metadata = st.dictionaries(names, json_values, max_size=4)
producers = st.none() | st.builds(Producer, name=names, version=st.none() | names, host=names, pid=counts)
envelope: dict[str, Any] = {
    "event_id": st.uuids(),
    "occurred_at": times,
    "pipeline": names,
    "producer": producers,
    "flags": st.just(()),
}
run = envelope | {"run_id": st.uuids()}
rows: dict[str, Any] = dict.fromkeys(("inserts", "updates", "deletes", "total_rows"), counts)
times_of_day = {
    "cron": st.sampled_from(["0 9 * * *", "30 7 * * MON-FRI"]),
    "timezone": st.sampled_from(["UTC", "Europe/Berlin"]),
}
freshness = st.none() | st.builds(
    Freshness,
    max_age_seconds=seconds,
    complete_by=st.none() | st.builds(CompleteBy, **times_of_day, days=st.integers(1, 366)),
)
timeliness = st.none() | st.builds(
    Timeliness, max_duration_seconds=seconds, done_by=st.none() | st.builds(DoneBy, **times_of_day)
)
mutes = st.lists(
    st.builds(Mute, check=st.sampled_from(["all", "anomaly"]), until=st.none() | times, reason=st.none() | names),
    max_size=3,
).map(tuple)
datasets = st.lists(st.builds(Dataset, name=names, type=names, group=names), max_size=3).map(tuple)
rules = st.lists(
    st.builds(AnomalyRule, metric=names, z_limit=st.none() | st.floats(2, 10), min_value=st.none() | st.floats(-5, 5)),
    max_size=3,
).map(tuple)
schedules = st.builds(
    Schedule,
    cron=st.sampled_from(["0 6 * * *", "*/5 8-18 * * MON-FRI", "@daily", "30 2 LW * 5#2"]),
    timezone=st.sampled_from(["UTC", "Europe/Berlin"]),
    grace_seconds=seconds,
    early_seconds=st.just(0.0) | seconds,
    exclude=st.lists(st.dates().map(str), max_size=2).map(tuple),
    paused_until=st.none() | times,
)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        PipelineDeclared,
        **envelope,
        type=st.none() | names,
        type_defaults=st.none() | st.builds(TypeDefaults, freshness=freshness, timeliness=timeliness, mutes=mutes),
        active=st.booleans(),
        owner=st.none() | names,
        tags=st.lists(names, max_size=3).map(tuple),
        metadata=metadata,
        freshness=freshness,
        timeliness=timeliness,
        schedule=st.none() | schedules,
        mutes=mutes,
        anomaly_rules=rules,
        sources=datasets,
        targets=datasets,
        default_watermark=st.none() | names,
        watermark_kind=st.sampled_from(["timestamp", "integer", "text"]),
        config_hash=st.none() | names,
    ),
    st.builds(
        RunStarted,
        **run,
        parent_run_id=st.none() | st.uuids(),
        attempt=st.integers(1, 100),
        watermark=st.none() | names,
        next_watermark=st.none() | names,
        heartbeat_seconds=st.none() | seconds,
        nominal_at=st.none() | times,
        backfill=st.booleans(),
        labels=label_maps,
        metadata=metadata,
    ),
    st.builds(RunHeartbeat, **run, **rows),
    st.builds(
        RunEnded,
        **run,
        **rows,
        status=st.sampled_from(["succeeded", "failed", "aborted"]),
        reported_status=st.none(),
        started_at=st.none() | times,
        duration_ms=st.none() | st.integers(0, 10**11),
        metrics=st.dictionaries(names, st.floats(allow_nan=False, allow_infinity=False), max_size=5),
        next_watermark=st.none() | names,
        error=st.none() | st.builds(RunError, type=st.none() | names, message=names),
        backfill=st.booleans(),
        labels=label_maps,
        metadata=metadata,
    ),
    st.builds(
        WatermarkAdvanced,
        **envelope,
        watermark=names,
        kind=st.sampled_from(["timestamp", "integer", "text"]),
        run_id=st.none() | st.uuids(),
        dataset=st.none() | names,
    ),
    st.builds(
        FeedbackGiven,
        **run,
        metrics=st.lists(names, max_size=3).map(tuple),
        verdict=st.sampled_from(["expected", "false_positive", "new_normal"]),
    ),
)


@thoroughly
@given(events)
def test_an_event_comes_back_as_it_was_sent(event: Event) -> None:
    assert decode(encode(event), now=NOW) == event
