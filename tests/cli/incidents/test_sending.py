"""Commands on their way to Kafka, and what is said when they can't be given."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

from brokers.kinds import Broker
from deciding.calls import Call, Store
from sinking.records import anomaly, incident, name_id, resolved
from watchline.cli.incidents.sending import read_until
from watchline.schemas import Event, Topics, decode
from watchline.schemas.errors import Misconfigured

INCIDENT, RUN = str(name_id("incident")), str(name_id("run"))


def sent(broker: Broker, topics: Topics) -> tuple[bytes, Event]:
    """The first record of the runs: its key, and the event as the streams read it."""

    async def read() -> tuple[bytes, Event]:
        consumer = AIOKafkaConsumer(
            topics.runs, bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
        )
        async with consumer, asyncio.timeout(20):
            record = await consumer.getone()
        return record.key, decode(record.value, now=datetime.now(UTC))

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("arguments", "event_type", "expected"),
    [
        (["incidents", "ack", INCIDENT[:8], "--note", "on it"], "incident.acknowledged", {"note": "on it"}),
        (["incidents", "resolve", INCIDENT], "incident.resolved", {"note": None}),
        (["incidents", "snooze", INCIDENT, "--for", "2h"], "incident.snoozed", {}),
        (
            ["mute", "orders_daily", "--for", "2h", "--reason", "move"],
            "pipeline.muted",
            {"reason": "move", "check": "all"},
        ),
        (["unmute", "orders_daily", "--check", "lost"], "pipeline.unmuted", {"check": "lost"}),
        (
            ["feedback", RUN[:8], "--metric", "inserts", "--verdict", "expected"],
            "feedback.given",
            {"run_id": name_id("run"), "metrics": ("inserts",), "verdict": "expected"},
        ),
    ],
)
def test_a_command_travels_with_the_events_of_its_pipeline(
    call: Call,
    store: Store,
    kafka: Broker,
    topics: Topics,
    arguments: list[str],
    event_type: str,
    expected: dict[str, Any],
) -> None:
    store(incident(), anomaly())

    result = call(*arguments, "--no-wait")
    key, event = sent(kafka, topics)

    assert (result.code, key, event.event_type, event.flags) == (0, b"orders_daily", event_type, ())
    assert {name: getattr(event, name) for name in expected} == expected
    assert "@" in (getattr(event, "by", None) or "")
    assert result.out.startswith(f"{event_type} orders_daily: ")
    if arguments[0] == "incidents":
        assert getattr(event, "incident_id", None) == name_id("incident")
    if until := getattr(event, "until", None):
        assert timedelta(minutes=119) < until - datetime.now(UTC) <= timedelta(hours=2)


def test_who_waits_in_vain_is_told_that_kafka_has_it(call: Call, store: Store, kafka: Broker, topics: Topics) -> None:
    store(incident())

    result = call("incidents", "ack", INCIDENT, "--timeout", "0.3")

    assert result.code == 1
    assert "the sink has it not yet after 0.3 s" in result.err
    assert sent(kafka, topics)[1].event_type == "incident.acknowledged"


def test_what_was_sent_can_be_read_by_a_program(call: Call, store: Store, kafka: Broker) -> None:
    store(incident())

    shown = json.loads(call("incidents", "ack", INCIDENT, "--no-wait", "--format", "json").out)

    assert (shown["event_type"], shown["incident_id"], shown["outcome"]) == ("incident.acknowledged", INCIDENT, "sent")


def test_a_resolved_incident_is_left_alone(call: Call, store: Store) -> None:
    store(incident(), resolved())

    result = call("incidents", "ack", INCIDENT)

    assert result.code == 2
    assert "is resolved (recovered)" in result.err


def test_a_run_that_was_not_flagged_takes_no_feedback(call: Call) -> None:
    result = call("feedback", "deadbeef", "--verdict", "expected")

    assert result.code == 2
    assert "no run deadbeef with anomalies" in result.err


def test_without_a_broker_nothing_is_said_to_be_done(call: Call, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store(incident())
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")

    result = call("incidents", "ack", INCIDENT)

    assert (result.code, result.out) == (1, "")
    assert "was not delivered to 127.0.0.1:1" in result.err


@pytest.mark.parametrize("variable", ["WATCHLINE_DISABLED", "WATCHLINE_TRANSPORT"])
def test_a_setting_that_sends_nothing_is_no_success(
    call: Call, store: Store, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    store(incident())
    monkeypatch.setenv(variable, "1" if variable == "WATCHLINE_DISABLED" else "console")

    assert call("incidents", "ack", INCIDENT).code == 2


@pytest.mark.parametrize("wrong", ["soon", "0h", "-2h", "366d", "2", "1e9d", ""])
def test_a_while_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(Misconfigured, match="--for"):
        read_until(wrong, now=datetime.now(UTC))
