"""What a declaration fills: pipelines, versions, types, datasets, lineage."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from sinking.records import after, declared, ended, incident, started
from sinking.tables import Sinking

OTHER = {"name": "orders_clean", "type": "snowflake", "group": "warehouse"}


async def test_a_declaration_fills_every_column(sinking: Sinking) -> None:
    await sinking.store(declared(default_watermark="0", watermark_kind="integer"))

    [row] = await sinking.rows("pipelines")
    declaration = json.loads(row.pop("declaration"))
    assert declaration["schedule"]["cron"] == "0 6 * * *"
    assert len(row.pop("config_hash")) == 64
    assert row == {
        "pipeline": "orders_daily",
        "type": "extraction",
        "active": True,
        "owner": "sales",
        "tags": ["daily", "eu"],
        "metadata": '{"repo": "etl"}',
        "freshness_seconds": Decimal("3600.0"),
        "timeliness_seconds": Decimal("90.5"),
        "schedule_cron": "0 6 * * *",
        "schedule_timezone": "Europe/Berlin",
        "schedule_grace_seconds": Decimal("300.0"),
        "default_watermark": "0",
        "watermark_kind": "integer",
        "declared_at": after(),
        "revision": 1,
    }


async def test_a_declaration_fills_the_row_that_a_run_has_made(sinking: Sinking) -> None:
    await sinking.store(started())
    await sinking.store(declared())

    [row] = await sinking.rows("pipelines")
    assert row["owner"] == "sales"


async def test_what_is_no_longer_declared_is_gone(sinking: Sinking) -> None:
    await sinking.store(declared())
    await sinking.store(declared(revision=2, owner=None, freshness=None, active=False))

    [row] = await sinking.rows("pipelines")
    assert (row["owner"], row["freshness_seconds"], row["active"]) == (None, None, False)


@pytest.mark.parametrize("together", [True, False])
async def test_each_configuration_is_a_version_that_remembers_its_times(sinking: Sinking, together: bool) -> None:
    history = [
        declared(revision=1, config_hash="a"),
        declared(revision=2, config_hash="b", owner="it", at=after(hours=1)),
        declared(revision=3, config_hash="a", at=after(hours=2)),
    ]
    for batch in [history] if together else [[one] for one in history]:
        await sinking.store(*batch)
    await sinking.store(history[0])

    versions = await sinking.rows("pipeline_versions")
    assert [
        (
            one["config_hash"],
            one["first_declared_at"],
            one["last_declared_at"],
            one["first_revision"],
            one["last_revision"],
        )
        for one in versions
    ] == [("a", after(), after(hours=2), 1, 3), ("b", after(hours=1), after(hours=1), 2, 2)]
    [pipeline] = await sinking.rows("pipelines")
    assert (pipeline["config_hash"], pipeline["revision"]) == ("a", 3)


async def test_the_latest_defaults_of_a_type_win_in_any_order(sinking: Sinking) -> None:
    old = declared("a", revision=50, type_defaults={"freshness": {"max_age_seconds": 60}})
    new = declared(
        "b",
        revision=1,
        at=after(hours=1),
        type_defaults={"timeliness": {"max_duration_seconds": 5}, "mutes": [{"check": "failure"}]},
    )
    silent = declared("c", revision=1, at=after(hours=2))
    found = []
    for order in ([old, new, silent], [silent, new, old], [new, silent, old]):
        for record in order:
            await sinking.store(record)
        found.append(await sinking.rows("pipeline_types"))
        await sinking.clear()
        await sinking.store(*order)
        found.append(await sinking.rows("pipeline_types"))
        await sinking.clear()

    [row] = found[0]
    assert (row["freshness_seconds"], row["timeliness_seconds"], row["declared_by"]) == (None, Decimal("5.0"), "b")
    assert json.loads(row["mutes"])[0]["check"] == "failure"
    assert all(one == found[0] for one in found)


async def test_lineage_is_replaced_at_every_declaration(sinking: Sinking) -> None:
    await sinking.store(declared("a"), declared("b", sources=[OTHER], targets=[{"name": "report"}]))
    await sinking.store(declared("a", revision=2, targets=[OTHER, OTHER]))

    edges = await sinking.connection.fetch(
        "select pipeline, s.name as source, t.name as target from lineage_edges e "
        "join datasets s on s.dataset_id = e.source join datasets t on t.dataset_id = e.target order by pipeline"
    )
    assert [tuple(edge) for edge in edges] == [
        ("a", "shop.orders", "orders_clean"),
        ("b", "orders_clean", "report"),
    ]
    assert {one["name"] for one in await sinking.rows("datasets")} == {
        "shop.orders",
        "orders",
        "orders_clean",
        "report",
    }


async def test_an_older_declaration_leaves_lineage_alone(sinking: Sinking) -> None:
    await sinking.store(declared(revision=2))
    before = await sinking.rows("lineage_edges")

    await sinking.store(declared(revision=1, targets=[OTHER]))

    assert await sinking.rows("lineage_edges") == before
    assert len(before) == 1


async def test_datasets_of_equal_name_and_different_type_are_two(sinking: Sinking) -> None:
    await sinking.store(declared(sources=[{"name": "x", "type": "s3"}], targets=[{"name": "x", "type": "postgres"}]))

    assert len(await sinking.rows("datasets")) == 2


FRESHNESS = "select freshness, last_change_at from reporting.pipelines"


async def freshness_of(sinking: Sinking) -> tuple[object, ...]:
    [row] = await sinking.connection.fetch(FRESHNESS)
    return tuple(row)


async def test_data_is_unknown_until_something_was_loaded_and_then_fresh(sinking: Sinking) -> None:
    await sinking.store(declared())
    before = await freshness_of(sinking)
    await sinking.store(ended("nothing", revision=2, inserts=0, updates=None, deletes=None))
    await sinking.store(ended("past", revision=3, inserts=5, backfill=True))
    still = await freshness_of(sinking)

    await sinking.store(ended("loaded", revision=4, inserts=5))

    assert (before, still) == (("unknown", None), ("unknown", None))
    assert await freshness_of(sinking) == ("fresh", after(minutes=5))


async def test_data_is_as_stale_as_its_open_incident_says(sinking: Sinking) -> None:
    await sinking.store(declared(), ended("loaded", revision=4, inserts=5))

    await sinking.store(incident(kind="freshness", severity="warn"))
    aging = await freshness_of(sinking)
    await sinking.store(incident(kind="freshness", severity="fail", transition="updated", transition_no=2, revision=9))

    assert aging[0] == "aging"
    assert (await freshness_of(sinking))[0] == "stale"


async def test_nobody_says_how_fresh_data_is_that_has_no_limit(sinking: Sinking) -> None:
    await sinking.store(declared(freshness=None), ended("loaded", revision=4, inserts=5))

    assert (await freshness_of(sinking))[0] is None
