"""Watermarks and anomalies in their tables."""

from __future__ import annotations

import pytest

from sinking.records import advanced, after, anomaly, name_id
from sinking.tables import Sinking


@pytest.mark.parametrize("together", [True, False])
async def test_a_watermark_has_one_row_and_all_its_advances(sinking: Sinking, together: bool) -> None:
    history = [
        advanced("2026-11-29", revision=1),
        advanced("2026-11-30", revision=2),
        advanced("2026-11-28", revision=3, effective="2026-11-30", regressed=True, regressions=1),
        advanced("7", revision=4, dataset="orders", kind="integer", run_id=name_id("run"), flags=("clock_skew",)),
    ]
    for batch in [history] if together else [[one] for one in history]:
        await sinking.store(*batch)

    own, orders = await sinking.rows("watermarks")
    assert (own["watermark"], own["effective"], own["regressions"]) == ("2026-11-28", "2026-11-30", 1)
    assert (orders["dataset"], orders["kind"], orders["flags"]) == ("orders", "integer", ["clock_skew"])
    assert len(await sinking.rows("watermark_history")) == 4


async def test_a_watermark_of_lower_revision_is_history_only(sinking: Sinking) -> None:
    await sinking.store(advanced("b", revision=5))
    await sinking.store(advanced("a", revision=4))

    [row] = await sinking.rows("watermarks")
    assert row["watermark"] == "b"
    assert len(await sinking.rows("watermark_history")) == 2


async def test_an_advance_sent_twice_is_one_advance(sinking: Sinking) -> None:
    twice = advanced("b", revision=5)
    await sinking.store(twice, twice.model_copy(update={"revision": 6}))
    await sinking.store(twice)

    [row] = await sinking.rows("watermark_history")
    assert row["revision"] == 5


async def test_an_anomaly_keeps_what_explains_it(sinking: Sinking) -> None:
    await sinking.store(anomaly(expected=None, lower=None, muted=True))

    [row] = await sinking.rows("anomalies")
    assert row == {
        "anomaly_id": name_id("anomaly inserts"),
        "pipeline": "orders_daily",
        "run_id": name_id("run"),
        "metric": "inserts",
        "value": 12.0,
        "expected": None,
        "lower": None,
        "upper": 1310.0,
        "score": -9.1,
        "z_limit": 4.5,
        "baseline_runs": 212,
        "seasons": ["weekday"],
        "reason": "point",
        "rule": "default",
        "run_started_at": after(),
        "run_ended_at": after(minutes=5),
        "muted": True,
        "revision": 2,
    }


async def test_the_verdict_of_the_higher_revision_stays(sinking: Sinking) -> None:
    await sinking.store(anomaly(revision=3, value=0.1 + 0.2), anomaly(revision=2, value=2))
    await sinking.store(anomaly(revision=1, value=1))

    [row] = await sinking.rows("anomalies")
    assert row["value"] == 0.1 + 0.2
