"""The schedule is fixed by its seed, deals every kind, and lets a part suffer one fault at a time."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest

from faults.chaos.schedule import TAIL_SECONDS, Fault, Kind, kinds_for, schedule

ONE_NODE, CLUSTER, EMBEDDED = (
    kinds_for(apache=True, nodes=1),
    kinds_for(apache=True, nodes=3),
    kinds_for(apache=False, nodes=1),
)


def test_the_same_seed_gives_the_same_schedule_and_another_one_another() -> None:
    assert schedule(7, 6, ONE_NODE) == schedule(7, 6, ONE_NODE)
    assert schedule(7, 6, ONE_NODE) != schedule(8, 6, ONE_NODE)


@pytest.mark.parametrize("allowed", [ONE_NODE, CLUSTER, EMBEDDED])
def test_six_minutes_hold_sixty_faults_and_each_kind_at_least_once(allowed: tuple[Kind, ...]) -> None:
    faults = schedule(1, 6, allowed)

    assert len(faults) >= 60
    assert {fault.kind for fault in faults} == {kind.name for kind in allowed}


def test_no_part_suffers_two_faults_at_once() -> None:
    by_part: dict[str, list[Fault]] = defaultdict(list)
    for fault in schedule(3, 60, ONE_NODE):
        by_part[fault.hits].append(fault)

    for faults in by_part.values():
        assert all(one.at + one.seconds < other.at for one, other in pairwise(faults))


def test_faults_come_in_order_and_end_before_the_run_does() -> None:
    faults = schedule(5, 6, ONE_NODE)

    assert [fault.at for fault in faults] == sorted(fault.at for fault in faults)
    assert max(fault.at + fault.seconds for fault in faults) < 6 * 60 - TAIL_SECONDS + 10


def test_what_only_apache_kafka_allows_stays_away_from_the_embedded_broker() -> None:
    kinds = {kind.name for kind in EMBEDDED}

    assert "sink killed" in kinds
    assert not kinds & {"worker killed", "broker killed", "node killed"}
