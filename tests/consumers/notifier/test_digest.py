"""What a digest says, in Slack and in a terminal, whatever the names of the pipelines."""

from __future__ import annotations

import io
import json
from datetime import timedelta

import pytest

from slack.incidents import NOON, after, alert, incident, resolved
from watchline.consumers.notifier.alert import HeldBack, Message, Storm
from watchline.consumers.notifier.blocks import fallback, render, render_all
from watchline.consumers.notifier.terminal import AlertConsole, TerminalChannel
from watchline.schemas.records import IncidentRecord

STORM = Storm(7, NOON)
OVER = Storm(7, NOON, NOON + timedelta(minutes=12))


def storm(*incidents: IncidentRecord, of: Storm = STORM) -> Message:
    """A digest of these transitions."""
    return Message(tuple(alert(each) for each in incidents), storm=of)


def test_the_worst_come_first_and_what_has_resolved_is_only_counted() -> None:
    bad, mild, over = incident(pipeline="b"), incident(pipeline="a", severity="warn"), incident(pipeline="c")

    text = render(storm(mild, bad, over, resolved(over, after(minutes=5))))["text"]

    assert text.splitlines() == [
        "🔴 Storm: 3 new incidents, told together until it is over",
        "2 open: 1 anomaly (fail), 1 anomaly (warn)",
        "1 resolved meanwhile",
        "b: inserts below the expected range",
        "a: inserts below the expected range",
        "storm 7: all of it stands in alert_outbox",
    ]


def test_a_storm_that_is_over_says_how_long_it_took_and_what_is_left() -> None:
    one = incident()

    text = render(storm(one, resolved(one, after(minutes=5)), of=OVER))["text"]

    assert text.startswith("✅ Storm over after 12 min: 1 new incidents; new ones are told one by one again")
    assert "none is open any more" in text


def test_what_the_post_knows_besides_is_in_the_digest_too() -> None:
    known, new = incident(pipeline="known"), incident(pipeline="new")

    text = render(Message((alert(new),), company=(alert(known),), storm=STORM))["text"]

    assert "Storm: 2 new incidents" in text


@pytest.mark.parametrize("name", ["<!channel>", "&<>" * 60, "a\nb\x1b[2J", "*bold* `code`", "😀" * 200])
def test_no_name_can_mention_or_make_the_digest_too_long(name: str) -> None:
    body = render(storm(*(incident(pipeline=name, title=name) for _ in range(300))))

    assert "<!channel>" not in json.dumps(body)
    assert "\\u001b" not in json.dumps(body)
    assert len(body["blocks"]) <= 50
    assert all(len(block["text"]["text"]) <= 3_000 for block in body["blocks"] if "text" in block)
    assert len(json.dumps(body, ensure_ascii=False)) < 12_000
    assert "blocks" not in fallback(storm(incident(pipeline=name)))


def test_the_details_of_a_huge_group_fit_into_one_reply() -> None:
    body = render_all(Message(tuple(alert(incident(title="x" * 400)) for _ in range(200))))

    assert all(len(block["text"]["text"]) <= 3_000 for block in body["blocks"] if block["type"] == "section")
    assert body["blocks"][-1]["elements"][0]["text"] == "the rest stands in the table incidents"


async def test_the_terminal_tells_a_storm_in_the_same_words() -> None:
    output = io.StringIO()

    await TerminalChannel(AlertConsole(file=output, width=80)).send(storm(incident(), incident(pipeline="stock")))

    assert output.getvalue().splitlines()[:2] == [
        "FAIL Storm: 2 new incidents, told together until it is over",
        "  2 open: 2 anomaly (fail)",
    ]


def test_whom_a_cause_holds_back_is_counted_and_named() -> None:
    told = alert(incident(), held_back=HeldBack(60, ("child 1", "<!here>")))

    text = render(Message((told,)))["text"]

    assert "60 downstream late for it: child 1, &lt;!here&gt; and 58 more" in text
