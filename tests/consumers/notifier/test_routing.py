"""Which channel an alert belongs to."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr, ValidationError

from watchline.consumers.notifier.routing import Rule, Traits, destination_of
from watchline.consumers.notifier.triage import addresses

ALERT = Traits(pipeline="orders_daily", owner="sales", type="billing", kind="freshness", severity="fail")
INCIDENT = uuid4()


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({}, True),
        ({"owner": "sales"}, True),
        ({"owner": "stock"}, False),
        ({"type": "billing", "severity": "fail"}, True),
        ({"type": "billing", "severity": "warn"}, False),
        ({"kind": "freshness"}, True),
        ({"pipeline": "orders_*"}, True),
        ({"pipeline": "ORDERS_*"}, False),
    ],
)
def test_a_rule_fits_when_all_that_it_names_does(wanted: dict[str, Any], fits: bool) -> None:
    assert Rule(channel="#x", **wanted).fits(ALERT) is fits


def test_the_first_rule_that_fits_wins_and_without_one_the_default() -> None:
    rules = [Rule(owner="stock", channel="#stock"), Rule(severity="fail", channel="#fire"), Rule(channel="#rest")]

    assert destination_of(ALERT, rules, "#default") == "#fire"
    assert destination_of(ALERT._replace(severity="warn"), rules, "#default") == "#rest"
    assert destination_of(ALERT, rules[:1], "#default") == "#default"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"channel": "#x", "webhook_url": SecretStr("https://hooks.slack.com/x"), "name": "x"},
        {"webhook_url": SecretStr("https://hooks.slack.com/x")},
        {"webhook_url": SecretStr("https://hooks.slack.com/x"), "name": "slack"},
        {"channel": "#x", "ownr": "sales"},
    ],
)
def test_a_rule_that_leads_to_no_place_or_two_or_looks_at_nothing_known_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Rule(**wrong)


def test_the_end_of_an_incident_is_told_where_it_was_told_last() -> None:
    rules = [Rule(severity="fail", channel="#fire")]
    opened, worse, end = row(1, "opened", "warn"), row(2, "updated", "fail"), row(3, "resolved", "warn")

    assert [each[1] for each in addresses([opened, worse, end], rules, "#data")] == ["#data", "#fire", "#fire"]
    assert [each[1] for each in addresses([{**end, "told_at": "#fire"}], rules, "#data")] == ["#fire"]


def test_a_change_that_calls_nobody_stays_where_its_incident_was_told() -> None:
    milder = {**row(3, "updated", "warn"), "quiet": True, "told_at": "#fire"}

    assert [each[1] for each in addresses([milder], [Rule(severity="fail", channel="#fire")], "#data")] == ["#fire"]


def test_what_becomes_of_an_incident_of_a_storm_stays_with_the_storm() -> None:
    end = {**row(2, "resolved", "fail"), "told_at": "#data", "told_in": 7}

    assert addresses([end], [], "#data") == [(2, "#data", '{"storm": 7}', 7)]


def row(number: int, transition: str, severity: str, incident_id: UUID = INCIDENT) -> dict[str, Any]:
    """An alert as it comes from the outbox without a destination."""
    traits = {"pipeline": "orders", "owner": None, "type": None, "kind": "failure", "severity": severity}
    place = {"quiet": False, "told_at": None, "told_in": None, "storm_id": None}
    return {"alert_id": number, "incident_id": incident_id, "transition": transition, **traits, **place}
