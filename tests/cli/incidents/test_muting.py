"""`watchline mute` and `unmute`: what is not meant is refused before anything is sent."""

from __future__ import annotations

import pytest

from brokers.kinds import Broker
from deciding.calls import Call, Store
from sinking.records import incident
from watchline.cli.nearness import nearest

MUTE = ("--for", "2h", "--reason", "moving the database")


@pytest.mark.parametrize(
    "arguments",
    [("mute", "Order_dayly", *MUTE), ("unmute", "Order_dayly")],
    ids=["mute", "unmute"],
)
def test_a_pipeline_that_nobody_has_heard_of_is_refused_with_the_nearest_names(
    call: Call, store: Store, arguments: tuple[str, ...]
) -> None:
    store(incident(), incident("stock", pipeline="stock", fingerprint="stock"))

    result = call(*arguments)

    assert (result.code, result.out) == (2, "")
    assert "no pipeline Order_dayly was ever heard of" in result.err
    assert "did you mean orders_daily?" in result.err
    assert "--force" in result.err


def test_where_no_name_is_near_none_is_offered(call: Call, store: Store) -> None:
    store(incident())

    result = call("mute", "\x1b[2Jzzz", *MUTE)

    assert result.code == 2
    assert "did you mean" not in result.err
    assert "\x1b" not in result.err


def test_it_is_muted_all_the_same_with_force(call: Call, kafka: Broker) -> None:
    result = call("mute", "brand_new", "--force", "--no-wait", *MUTE)

    assert result.code == 0
    assert result.out.startswith("pipeline.muted brand_new: ")


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_mute_without_a_reason_is_refused(call: Call, store: Store, reason: str) -> None:
    store(incident())

    result = call("mute", "orders_daily", "--for", "2h", "--reason", reason)

    assert (result.code, result.out) == (2, "")
    assert "--reason is empty" in result.err


def test_the_nearest_names_are_the_most_alike_whatever_their_case() -> None:
    names = ["orders_daily", "Orders_Hourly", "stock", "returns_daily"]

    assert nearest("ORDERS_DALY", names)[0] == "orders_daily"
    assert nearest("orders_hourly", names)[0] == "Orders_Hourly"
    assert nearest("xyz", names) == []
