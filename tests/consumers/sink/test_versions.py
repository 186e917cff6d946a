"""Which configurations a pipeline has had, and what changed from one to the next."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from sinking.records import NOON, after, declared
from sinking.tables import Sinking

VERSIONS = """
select version, config_hash, first_declared_at, last_declared_at, declaration
from reporting.pipeline_versions where pipeline = 'orders_daily' order by version
"""
CHANGES = """
select version, changed_at, field, before, after, returned from reporting.pipeline_changes
where pipeline = 'orders_daily' order by changed_at, returned, field
"""
Change = tuple[int, datetime, str, str | None, str | None, bool]


async def changes(sinking: Sinking) -> list[Change]:
    found: list[Change] = [tuple(row) for row in await sinking.connection.fetch(CHANGES)]
    return found


async def fields(sinking: Sinking) -> dict[str, tuple[str | None, str | None]]:
    """What changed, by field, where all of it belongs to one change."""
    return {field: (before, after) for _, _, field, before, after, _ in await changes(sinking)}


async def test_versions_are_counted_in_the_order_in_which_they_came(sinking: Sinking) -> None:
    await sinking.store(declared(owner="it"))
    await sinking.store(declared(revision=2, owner="sales", at=after(hours=1)), declared("other", revision=3))

    first, second = await sinking.connection.fetch(VERSIONS)
    assert (first["version"], first["first_declared_at"], first["last_declared_at"]) == (1, NOON, NOON)
    assert (second["version"], second["first_declared_at"]) == (2, after(hours=1))
    assert json.loads(second["declaration"])["owner"] == "sales"


async def test_a_change_names_the_field_and_both_values(sinking: Sinking) -> None:
    await sinking.store(declared(schedule={"cron": "0 6 * * *"}, metadata={"repo": "etl", "team": {"lead": "a"}}))
    await sinking.store(
        declared(
            revision=2,
            at=after(hours=1),
            schedule={"cron": "0 7 * * *", "grace_seconds": 60},
            metadata={"repo": "etl", "team": {"lead": "b"}, "tier": 1.0},
            active=False,
        )
    )

    assert await changes(sinking) == [
        (2, after(hours=1), "active", "true", "false", False),
        (2, after(hours=1), "metadata.team.lead", "a", "b", False),
        (2, after(hours=1), "metadata.tier", None, "1", False),
        (2, after(hours=1), "schedule.cron", "0 6 * * *", "0 7 * * *", False),
        (2, after(hours=1), "schedule.grace_seconds", "300", "60", False),
    ]


async def test_a_limit_that_comes_or_goes_as_a_whole_shows_each_of_its_fields(sinking: Sinking) -> None:
    await sinking.store(declared(freshness={"max_age_seconds": 3600}, retries=None))
    await sinking.store(declared(revision=2, freshness=None, retries={"limit": 2}))

    assert await fields(sinking) == {
        "freshness.max_age_seconds": ("3600", None),
        "retries.alert_each": (None, "false"),
        "retries.limit": (None, "2"),
        "retries.wait_seconds": (None, "3600"),
    }


async def test_lists_are_shown_as_sorted_text(sinking: Sinking) -> None:
    await sinking.store(declared(tags=("b", "a"), sources=[], mutes=[]))
    await sinking.store(
        declared(
            revision=2,
            tags=("c", "a"),
            sources=[{"name": "y", "type": "s3", "group": "lake"}, {"name": "x"}],
            mutes=[{"check": "lost", "reason": "known"}],
        )
    )

    assert await fields(sinking) == {
        "mutes": (None, "check=lost reason=known"),
        "sources": (None, "x (table, database), y (s3, lake)"),
        "tags": ("a, b", "a, c"),
    }


async def test_what_is_no_configuration_and_the_order_of_lists_change_nothing(sinking: Sinking) -> None:
    await sinking.store(declared(tags=("a", "b"), config_hash="one"))
    await sinking.store(declared(revision=2, at=after(hours=1), tags=("b", "a"), config_hash="two"))

    assert len(await sinking.connection.fetch(VERSIONS)) == 2
    assert await changes(sinking) == []


async def test_a_value_that_becomes_a_map_is_shown_by_its_parts(sinking: Sinking) -> None:
    await sinking.store(declared(metadata={"team": "a", "a.b": 1, "a": {"b": 2}}))
    await sinking.store(declared(revision=2, metadata={"team": {"lead": "a"}, "a.b": 3, "a": {"b": 2}}))

    assert await fields(sinking) == {
        "metadata.team": ("a", None),
        "metadata.team.lead": (None, "a"),
        "metadata.a.b": ("1", "3"),
    }


@pytest.mark.parametrize("together", [True, False])
async def test_a_return_to_an_earlier_configuration_is_told_from_what_came_before_it(
    sinking: Sinking, together: bool
) -> None:
    history = [
        declared(revision=number, at=after(hours=number), owner=owner)
        for number, owner in enumerate(("a", "a", "b", "b", "a", "a"), 1)
    ]
    for batch in [history] if together else [[one] for one in history]:
        await sinking.store(*batch)

    assert [row["version"] for row in await sinking.connection.fetch(VERSIONS)] == [1, 2]
    assert await changes(sinking) == [
        (2, after(hours=3), "owner", "a", "b", False),
        (1, after(hours=4), "owner", "b", "a", True),  # some time after the last of b
    ]


async def test_a_third_configuration_is_compared_with_that_which_was_back_before_it(sinking: Sinking) -> None:
    for number, owner in enumerate(("a", "b", "a", "c"), 1):
        await sinking.store(declared(revision=number, at=after(hours=number), owner=owner))

    assert [(version, before, then) for version, _, _, before, then, _ in await changes(sinking)] == [
        (2, "a", "b"),
        (1, "b", "a"),
        (3, "a", "c"),
    ]


async def test_what_was_declared_once_has_changed_nothing(sinking: Sinking) -> None:
    await sinking.store(declared())
    await sinking.store(declared(revision=2, at=after(hours=1)))

    assert await changes(sinking) == []
