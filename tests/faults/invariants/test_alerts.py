"""Alerts that are heard: a good history passes, a bad one does not."""

from __future__ import annotations

from faults.invariants.alerts import alerts_delivered, delivered_once, no_false_alert
from faults.invariants.heard import alerts_in, references
from slack.fake import OK, Received

DUE = {("aaaaaaaa", 1), ("bbbbbbbb", 2)}


def test_every_alert_heard_at_least_once_is_delivered() -> None:
    assert alerts_delivered(DUE, [*DUE, ("aaaaaaaa", 1)]) == []


def test_an_alert_that_nobody_heard_of_is_seen() -> None:
    (silent,) = alerts_delivered(DUE, [("aaaaaaaa", 1), ("bbbbbbbb", 1)])

    assert str(silent) == "I6: never heard of: ('bbbbbbbb', 2)"


def test_one_repetition_a_crash_is_allowed() -> None:
    assert delivered_once([*DUE, *DUE], crashes=2) == []


def test_a_repetition_without_a_crash_is_seen() -> None:
    assert delivered_once([*DUE, ("aaaaaaaa", 1)], crashes=0) != []
    assert delivered_once([*DUE, *DUE], crashes=1) != []


def test_alerts_of_the_oracle_are_not_false() -> None:
    assert no_false_alert(DUE, [("aaaaaaaa", 1)]) == []


def test_an_alert_that_the_oracle_does_not_know_is_false() -> None:
    (false,) = no_false_alert(DUE, [("aaaaaaaa", 1), ("cccccccc", 1), ("cccccccc", 1)])

    assert "cccccccc" in false.what


def test_alerts_are_read_from_the_messages_that_tell_them_once_for_each_message() -> None:
    text = "late, incident 0a1b2c3d, change 12; stale, incident ffffffff, change 1"
    message = Received(0.0, "/", {"text": text, "blocks": [{"text": text}]}, OK)

    assert references(text) == {("0a1b2c3d", 12), ("ffffffff", 1)}
    assert alerts_in([message, message]) == 2 * [("0a1b2c3d", 12), ("ffffffff", 1)]
