"""One transaction per batch: rows, offsets, fence; and the record that Postgres refuses."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from sinking.records import advanced, after, ended, incident, name_id, sent, started
from sinking.tables import PLACE, Sinking, batch_of, waiting_for_locks
from watchline.consumers.sink.offsets import FenceLost
from watchline.consumers.sink.writer import Writer
from watchline.schemas.records import RunRecord

POISON: dict[str, tuple[Any, str | None]] = {
    "a NUL in a text": (advanced("nul\x00"), "22P05"),
    "a NUL in a run": (started("bad", watermark="nul\x00"), "22021"),
    "a NUL in a run's JSON": (started("bad", labels_started={"a": "nul\x00"}), "22P05"),
    "a count beyond 64 bits": (ended("bad", inserts=2**63), None),
    "a negative count": (ended("bad", inserts=-1), "23514"),
    "a key too long for an index": (started("bad", pipeline="".join(map(chr, range(20_000, 24_000)))), "54000"),
    "an attempt beyond 32 bits": (started("bad", attempt=2**31), None),
    "a second open incident in one transition": (incident(transition_no=2**31), "22003"),
}


@pytest.mark.parametrize("name", POISON)
async def test_one_refused_record_is_kept_and_the_others_are_stored(sinking: Sinking, name: str) -> None:
    poison, sqlstate = POISON[name]
    good = [started(str(number), revision=number + 1) for number in range(6)]
    for place in (0, 3, 6):
        batch = sent(*good[:place], poison, *good[place:], first=100)

        refused = await sinking.store_sent(batch)

        assert refused == 1
        stored = {row["run_id"] for row in await sinking.rows("runs")}
        assert stored == {name_id(str(number)) for number in range(6)}
        [letter] = await sinking.rows("dead_letters")
        assert (letter["source_offset"], letter["value"]) == (100 + place, batch[place].value)
        assert (letter["sqlstate"], letter["source_topic"]) == (sqlstate, "t.state")
        assert letter["reason"].startswith("refused_by_database")
        assert await sinking.next_offset() == 107
        await sinking.clear()


async def test_the_reason_names_the_constraint(sinking: Sinking) -> None:
    await sinking.store(ended(inserts=-1))

    [letter] = await sinking.rows("dead_letters")
    assert letter["reason"] == "refused_by_database:23514:runs_inserts_check"


async def test_a_batch_of_nothing_but_refused_records_still_moves_on(sinking: Sinking) -> None:
    refused = await sinking.store(*(ended(str(n), inserts=-1) for n in range(5)))

    assert refused == 5
    assert len(await sinking.rows("dead_letters")) == 5
    assert await sinking.next_offset() == 5


class Crash(Exception):
    """The process dies here."""


async def test_a_crash_before_the_commit_leaves_neither_rows_nor_offset(
    sinking: Sinking, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sinking.store(started("before"))

    async def crash(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("watchline.consumers.sink.writer.store_ancestry", crash)
        with pytest.raises(Crash):
            await sinking.store(started("during"), incident(), first=1)

    assert len(await sinking.rows("runs")) == 1
    assert await sinking.rows("alert_outbox") == []
    assert await sinking.next_offset() == 1

    await sinking.store(started("during"), incident(), first=1)
    assert len(await sinking.rows("runs")) == 2
    assert len(await sinking.rows("alert_outbox")) == 1
    assert await sinking.next_offset() == 3


async def test_the_former_owner_of_a_partition_writes_nothing(sinking: Sinking) -> None:
    await sinking.store(started("first"))
    successor = Sinking(sinking.dsn, sinking.connection)
    await successor.join()

    with pytest.raises(FenceLost) as lost:
        await sinking.store(started("zombie"), first=1)

    assert lost.value.places == (PLACE,)
    assert [row["run_id"] for row in await sinking.rows("runs")] == [name_id("first")]
    await successor.store(started("second"), first=1)
    assert await sinking.next_offset() == 2
    await successor.writer.close()


async def test_a_successor_waits_for_the_transaction_in_flight_and_reads_on_after_it(sinking: Sinking) -> None:
    """The blocked insert holds the first owner inside its transaction until the test lets go."""
    await sinking.store(started("run"))
    block = sinking.connection.transaction()
    await block.start()
    await sinking.connection.execute("select * from runs for update")
    storing = asyncio.create_task(sinking.store(ended("run"), first=1))
    other = Writer(sinking.dsn, log_epoch=0, alert_max_age=timedelta(days=1))
    watcher = await asyncpg.connect(sinking.dsn)
    await waiting_for_locks(watcher, 1)

    claiming = asyncio.create_task(other.claim([PLACE], owner="successor"))
    await waiting_for_locks(watcher, 2)
    assert not claiming.done()
    await block.rollback()
    await storing

    claim = (await claiming)[PLACE]
    assert (claim.next_offset, claim.fence) == (2, sinking.fence + 1)
    await other.close()
    await watcher.close()


async def test_logs_of_two_epochs_have_their_own_offsets(sinking: Sinking) -> None:
    await sinking.store(started())
    renewed = Writer(sinking.dsn, log_epoch=1, alert_max_age=timedelta(days=1))

    claim = (await renewed.claim([PLACE], owner="test"))[PLACE]

    assert (claim.next_offset, claim.fence) == (None, 1)
    await renewed.close()


async def test_two_writers_that_meet_in_the_same_rows_do_not_deadlock(sinking: Sinking) -> None:
    """The same runs in opposite orders from two partitions, many times at once."""
    other = Writer(sinking.dsn, log_epoch=0, alert_max_age=timedelta(days=1))
    fence = (await other.claim([("t.state", 1)], owner="other"))[("t.state", 1)].fence
    runs = [started(str(n), pipeline=f"p{n % 7}") for n in range(200)]

    async def again(writer: Writer, records: list[RunRecord], partition: int, fence: int) -> None:
        for revision in range(2, 12):
            renewed = [one.model_copy(update={"revision": revision}) for one in records]
            batch = batch_of(sent(*renewed), fence=fence, now=after())
            batch.advances[0] = type(batch.advances[0])("t.state", partition, revision, fence)
            await writer.store(batch)

    await asyncio.gather(again(sinking.writer, runs, 0, sinking.fence), again(other, runs[::-1], 1, fence))

    assert {row["revision"] for row in await sinking.rows("runs")} == {11}
    await other.close()


async def test_dead_letter_bytes_survive_a_refusal(sinking: Sinking) -> None:
    raw = started(watermark="nul\x00").model_dump_json().encode() + b"  \n"

    await sinking.store(raw)

    [letter] = await sinking.rows("dead_letters")
    assert base64.b64encode(letter["value"]) == base64.b64encode(raw)
