"""What the SDK cleans, the decoder has nothing to repair in."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchline.schemas.decoding.identity import FORBIDDEN_IN_NAME as REFUSED
from watchline.schemas.masking import mask_secrets
from watchline.sdk import Pipeline
from watchline.sdk.cleaning import FORBIDDEN_IN_NAME, MAX_ITEMS, clean_metadata, clean_text, mask
from watchline.sdk.testing import record

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.just(object()),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text() | st.integers(), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(
    counts=st.dictionaries(st.sampled_from(["inserts", "updates", "deletes", "total_rows"]), ANYTHING),
    metrics=st.dictionaries(st.text() | st.integers(), ANYTHING, max_size=70),
    labels=ANYTHING,
    metadata=ANYTHING,
    error=st.text(),
    attempt=ANYTHING,
    nominal_at=ANYTHING,
    watermark=ANYTHING,
)
def test_whatever_a_job_hands_over_decodes_without_repair(
    counts: dict[str, Any],
    metrics: dict[Any, Any],
    labels: Any,
    metadata: Any,
    error: str,
    attempt: Any,
    nominal_at: Any,
    watermark: Any,
) -> None:
    client, recorder = record()
    pipeline = client.pipeline(Pipeline(name="p", metadata=metadata, default_watermark=watermark))
    options = {"labels": labels, "metadata": metadata, "attempt": attempt, "nominal_at": nominal_at}

    run = pipeline.start(watermark=watermark, heartbeat_seconds=attempt, **options)
    run.add(**counts)
    for name, value in metrics.items():
        run.metric(name, value)
    run.advance(watermark)
    run.beat()
    run.end("failed", ValueError(error))
    with pipeline.run() as advancing:
        advancing.advance(watermark, dataset=error)

    assert {event.flags for event in recorder.events} == {()}
    assert sum(client.counters().dropped.values()) == 0


def test_names_are_refused_as_the_decoder_refuses_them() -> None:
    for code in range(sys.maxunicode + 1):
        assert bool(FORBIDDEN_IN_NAME.search(chr(code))) == bool(REFUSED(chr(code))), hex(code)


SECRETS = [
    "connect to postgres://me:hunter2@db/x failed",
    "Authorization: Bearer abcdefghijklmnop",
    "Authorization: Basic abcdefghijklmnop",
    "AKIAABCDEFGHIJKLMNOP in the log",
    "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
    "xoxb-123456789012-abcdefghijkl",
    "ghp_abcdefghijklmnopqrstuvwxyz0123",
    "https://hooks.slack.com/services/T000/B000/XXXXXXXX",
    "PASSWORD=hunter2 and api-key = abc",
    '{"secret": "x"}',
    "passwd: hunter2",
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("text", SECRETS)
def test_no_secret_escapes_the_cheap_test(text: str) -> None:
    assert mask(text) == mask_secrets(text) != text


def test_the_masker_is_not_loaded_for_plain_text() -> None:
    assert mask("division by zero") == "division by zero"


def test_an_object_whose_text_is_broken_still_gives_one() -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert "Broken" in clean_text(Broken())


def test_a_broken_mapping_loses_its_labels_and_nothing_else() -> None:
    class Broken(Mapping[str, str]):
        def __getitem__(self, key: str) -> str:
            raise RuntimeError("no")

        def __iter__(self) -> Any:
            raise RuntimeError("no")

        def __len__(self) -> int:
            return 1

    client, recorder = record()

    with client.pipeline(Pipeline(name="p")).run(labels=Broken()):
        pass

    assert [event["event_type"] for event in recorder.raw][-1] == "run.ended"


def test_deep_metadata_becomes_text_at_the_bottom() -> None:
    deep: Any = "bottom"
    for _ in range(100):
        deep = {"x": deep}

    cleaned = clean_metadata({"deep": deep, "at": datetime(2026, 1, 1, tzinfo=UTC)})

    assert cleaned["at"] == "2026-01-01T00:00:00+00:00"
    assert "bottom" in str(cleaned["deep"])


def test_an_event_that_is_too_large_loses_its_maps_and_not_the_fact() -> None:
    client, recorder = record()

    with client.pipeline(Pipeline(name="p")).run(metadata={f"k{n}": "x" * 8000 for n in range(60)}):
        pass

    started = recorder.raw[1]
    assert started["event_type"] == "run.started"
    assert "metadata" not in started


@pytest.mark.parametrize("items", [range(MAX_ITEMS + 1), [0] * (MAX_ITEMS + 1), frozenset(range(MAX_ITEMS + 1))])
def test_a_list_that_would_hold_up_the_job_becomes_a_text_that_says_so(
    items: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    found = clean_metadata({"items": items, "other": [1]})

    assert found == {"items": f"{type(items).__name__} of {MAX_ITEMS + 1} items … [cut]", "other": [1]}
    assert "list" in caplog.text


def test_a_long_list_is_kept_whole() -> None:
    assert clean_metadata({"items": range(MAX_ITEMS)}) == {"items": list(range(MAX_ITEMS))}
