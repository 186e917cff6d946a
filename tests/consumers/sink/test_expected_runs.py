"""Expected starts in their table and their view."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations

from sinking.records import NOON, after, declared, name_id, slot
from sinking.tables import Sinking

LIFE = (
    slot(revision=2),
    slot(revision=3, state="missed", decided_at=after(minutes=15)),
    slot(revision=4, state="late", run_id=name_id("run"), started_at=after(minutes=40), decided_at=after(minutes=40)),
)


async def test_a_slot_has_one_row_with_its_newest_state(sinking: Sinking) -> None:
    for record in LIFE:
        await sinking.store(record)

    [row] = await sinking.rows("expected_runs")
    assert row == {
        "pipeline": "orders_daily",
        "due_at": NOON,
        "state": "late",
        "reason": None,
        "timezone": "Europe/Berlin",
        "grace_seconds": Decimal(900),
        "run_id": name_id("run"),
        "started_at": after(minutes=40),
        "decided_at": after(minutes=40),
        "until": None,
        "revision": 4,
    }


async def test_any_order_any_batch_and_any_repetition_give_the_same_rows(sinking: Sinking) -> None:
    others = [slot(revision=5, due_at=after(hours=1)), slot(pipeline="other", revision=9, state="unknown", until=NOON)]
    await sinking.store(*LIFE, *others)
    expected = await sinking.rows("expected_runs")

    for order in permutations(LIFE):
        await sinking.clear()
        await sinking.store(order[0], *others)
        await sinking.store(*order[1:], order[0])
        await sinking.store(others[0])

        assert await sinking.rows("expected_runs") == expected


async def test_analysts_see_how_late_a_start_was_and_whose_it_is(sinking: Sinking) -> None:
    await sinking.store(declared(), *LIFE, slot(revision=6, due_at=after(days=1), state="excused", reason="paused"))

    found = await sinking.connection.fetch(
        "select state, reason, delay_seconds, owner, pipeline_type from reporting.expected_runs order by due_at"
    )

    assert [tuple(row) for row in found] == [
        ("late", None, Decimal(2400), "sales", "extraction"),
        ("excused", "paused", None, "sales", "extraction"),
    ]
