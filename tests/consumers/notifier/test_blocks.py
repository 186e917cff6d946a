"""What stands in a Slack message, and what can never stand there."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slack.incidents import NOON, RUN, after, alert, incident, message, resolved
from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.blocks import fallback, fit, render
from watchline.schemas.records import IncidentFact

HOSTILE = [
    "<!channel>",
    "<!here|here>",
    "<@U012AB3CD>",
    "<https://evil.example|orders>",
    "</services> & <b>",
    "&lt;!channel&gt;",
]


def texts(payload: Any) -> list[str]:
    """Every text of a payload, wherever it stands."""
    if isinstance(payload, dict):
        return [text for value in payload.values() for text in texts(value)]
    if isinstance(payload, list):
        return [text for value in payload for text in texts(value)]
    return [payload] if isinstance(payload, str) else []


def elements(payload: Any) -> list[dict[str, Any]]:
    """Every text element of a payload."""
    if isinstance(payload, dict):
        found = [payload] if payload.get("type") in ("plain_text", "mrkdwn") else []
        return found + [each for value in payload.values() for each in elements(value)]
    return [each for value in payload for each in elements(value)] if isinstance(payload, list) else []


def header(payload: dict[str, Any]) -> str:
    return str(payload["blocks"][0]["text"]["text"])


def fields(payload: dict[str, Any]) -> dict[str, str]:
    section = next(block for block in payload["blocks"] if "fields" in block)
    words = [field["text"] for field in section["fields"]]
    return dict(zip(words[::2], words[1::2], strict=True))


def test_an_opened_incident_says_what_where_since_when_and_whose() -> None:
    payload = render(message(incident()))

    assert header(payload) == "🔴 orders_daily: inserts below the expected range"
    assert payload["blocks"][1]["text"]["text"] == "inserts 12, expected 950 to 1,310 (z -9.1, 212 runs)"
    assert fields(payload) == {
        "*Pipeline*": "orders_daily",
        "*Run*": str(RUN),
        "*Since*": "2026-11-30 12:00:00 UTC",
        "*Owner*": "sales",
    }


def test_the_plain_text_says_the_same_as_the_blocks() -> None:
    opened = incident(incident_id=UUID("3e954c53-0000-4000-8000-000000000000"))

    assert render(message(opened))["text"].splitlines() == [
        "🔴 orders_daily: inserts below the expected range",
        "inserts 12, expected 950 to 1,310 (z -9.1, 212 runs)",
        f"pipeline orders_daily, run {RUN}, since 2026-11-30 12:00:00 UTC, owner sales, incident 3e954c53, change 1",
    ]


def test_a_resolve_message_says_how_long_it_lasted_and_why_it_ended() -> None:
    payload = render(message(resolved(incident(), after(hours=3, minutes=5))))

    assert header(payload) == "✅ orders_daily: inserts below the expected range (resolved after 3 h 5 min)"
    assert fields(payload)["*Lasted*"] == "3 h 5 min, recovered"


def test_a_message_says_who_takes_care_who_closed_it_and_what_they_said() -> None:
    end = resolved(incident(), after(hours=3), reason="manual")
    care = {"acknowledged_by": "ada@etl-1", "by": "bob@etl-2", "note": "<!here> known"}

    shown = fields(render(message(end.model_copy(update=care))))

    assert shown["*Lasted*"] == "3 h, closed by hand by bob@etl-2"
    assert (shown["*Acknowledged by*"], shown["*Note*"]) == ("ada@etl-1", "&lt;!here&gt; known")


def test_the_end_of_a_snooze_is_told_as_a_reminder() -> None:
    payload = render(message(incident(transition="woken", transition_no=3)))

    assert header(payload) == "🔴 orders_daily: inserts below the expected range (still open)"


def test_a_long_name_does_not_push_the_outcome_out_of_the_header() -> None:
    long = incident(pipeline="p" * 200, title="t" * 200)

    assert header(render(message(resolved(long, after(hours=3))))).endswith("… (resolved after 3 h)")


def test_an_incident_that_ended_before_it_was_told_is_one_story() -> None:
    opened = incident()

    payload = render(message(opened, resolved(opened, after(minutes=3))))

    assert header(payload) == "✅ orders_daily: inserts below the expected range (was open for 3 min)"


def test_a_reminder_says_that_it_is_one() -> None:
    payload = render(Message((alert(incident(severity="warn"), told_at=NOON),)))

    assert header(payload) == "🟠 orders_daily: inserts below the expected range (still open)"


def test_a_change_of_a_known_incident_is_not_announced_as_new() -> None:
    payload = render(message(incident(transition="updated", transition_no=2)))

    assert header(payload) == "🔴 orders_daily: inserts below the expected range (changed)"


def test_an_incident_without_a_run_or_an_owner_has_no_empty_fields() -> None:
    payload = render(message(incident(run_id=None, owner=None, facts=())))

    assert fields(payload).keys() == {"*Pipeline*", "*Since*", "*Owner*"}
    assert fields(payload)["*Owner*"] == "nobody"


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (IncidentFact(name="age", value=18_720, limit=14_400, unit="seconds"), "age 5 h 12 min, limit 4 h"),
        (
            IncidentFact(name="duration_seconds", value=95, lower=10, upper=40, score=6.04, unit="seconds"),
            "duration 1 min 35 s, expected 10 s to 40 s (z 6.0)",
        ),
        (
            IncidentFact(name="throughput", value=3.5, lower=10, unit="rows_per_second"),
            "throughput 3.5 rows/s, expected at least 10 rows/s",
        ),
        (IncidentFact(name="total_rows", value=9e6, upper=1e6), "total rows 9,000,000, expected at most 1,000,000"),
        (IncidentFact(name="error", value="ValueError: no\nrows", unit="text"), "error ValueError: no rows"),
        (IncidentFact(name="age", note="nothing was ever loaded"), "age; nothing was ever loaded"),
        (IncidentFact(name="inserts", value=0, expected=12, baseline_runs=1500), "inserts 0, expected 12 (1,500 runs)"),
    ],
)
def test_a_fact_is_told_with_its_unit_and_expectation(fact: IncidentFact, line: str) -> None:
    assert render(message(incident(facts=(fact,))))["blocks"][1]["text"]["text"] == line


def test_several_incidents_are_one_message_with_the_worst_first() -> None:
    late, failed = incident(severity="warn", title="run is late"), incident(title="run failed")
    over = resolved(incident(title="data is stale"), after(hours=1))

    payload = render(message(over, late, failed))

    assert header(payload) == "🔴 orders_daily: 1 failing, 1 warning, 1 resolved"
    heads = [block["text"]["text"].splitlines()[0] for block in payload["blocks"][1:4]]
    assert heads == [
        "🔴 orders_daily: run failed",
        "🟠 orders_daily: run is late",
        "✅ orders_daily: data is stale (resolved after 1 h)",
    ]


def test_a_digest_of_many_says_how_many_it_leaves_out() -> None:
    payload = render(message(*(incident(pipeline=f"p{number}") for number in range(500))))

    assert header(payload) == "🔴 500 pipelines: 500 failing"
    assert "and 494 more (494 failing)" in payload["text"]
    assert "and 494 more (494 failing)" in payload["blocks"][-1]["elements"][0]["text"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_can_mention_or_link(name: str) -> None:
    hostile = incident(
        pipeline=name,
        owner=name,
        title=name,
        facts=(IncidentFact(name=name, value=name, note=name, unit="text"),),
    )

    for payload in (render(message(hostile)), render(message(hostile, hostile)), fallback(message(hostile))):
        assert not any(character in text for text in texts(payload) for character in "<>")
        assert all(text.count("&") == sum(text.count(e) for e in ("&amp;", "&lt;", "&gt;")) for text in texts(payload))


def test_what_comes_from_events_is_never_mrkdwn() -> None:
    hostile = incident(pipeline="*bold* `code` _x_ ~y~ https://evil.example", owner="`rm -rf`")

    for payload in (render(message(hostile)), render(message(hostile, incident()))):
        marked = [each["text"] for each in elements(payload) if each["type"] == "mrkdwn"]
        assert set(marked) <= {"*Pipeline*", "*Run*", "*Since*", "*Owner*", "*Lasted*"}
        assert payload["mrkdwn"] is False
        assert payload["unfurl_links"] is False


def test_control_characters_of_a_name_are_shown() -> None:
    payload = render(message(incident(pipeline="a\x1b[2Jb\u202e")))

    assert header(payload).startswith("🔴 a\\x1b[2Jb\\u202e: ")


@given(st.text(max_size=400), st.integers(10, 200))
def test_an_escaped_text_keeps_its_limit_and_is_never_cut_within_an_entity(text: str, limit: int) -> None:
    fitted = fit(text, limit)

    assert len(fitted) <= limit
    rest = fitted.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")
    assert not set(rest) & set("&<>")


@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_no_message_exceeds_the_limits_of_slack(count: int) -> None:
    long = "&<>x" * 3_000
    facts = tuple(IncidentFact(name=long, value=long, note=long, unit="text") for _ in range(40))
    wordy = [incident(pipeline=long, owner=long, title=long, facts=facts) for _ in range(count)]

    payload = render(message(*wordy))

    assert len(payload["blocks"]) <= 50
    assert len(header(payload)) <= 150
    assert all(len(each["text"]) <= 2_000 for each in elements(payload))
    assert all(len(block.get("fields", [])) <= 10 for block in payload["blocks"])
    assert len(json.dumps(payload, ensure_ascii=False)) < 12_000


@given(
    st.builds(
        IncidentFact,
        name=st.text(),
        value=st.none() | st.floats() | st.text(),
        expected=st.none() | st.floats(),
        lower=st.none() | st.floats(),
        upper=st.none() | st.floats(),
        limit=st.none() | st.floats(),
        score=st.none() | st.floats(),
        baseline_runs=st.none() | st.integers(),
        unit=st.sampled_from(["rows", "seconds", "rows_per_second", "text", "number"]),
        note=st.none() | st.text(),
    ),
    st.text(),
)
def test_every_fact_and_name_can_be_told(fact: IncidentFact, name: str) -> None:
    payload = render(message(incident(facts=(fact,), pipeline=name, title=name, owner=name)))

    json.dumps(payload).encode("ascii")
    assert all(each["text"].strip() for each in elements(payload))
