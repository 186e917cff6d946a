"""A dump of an hour ago rewinds the sink by itself: the offsets are rows of the same transactions."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import asyncpg

from brokers.databases import Postgres, create_database, drop_database
from brokers.dumps import dump, restore
from brokers.kinds import Broker
from sinking import records
from sinking.services import produce, running, settings_for, until
from sinking.tables import Sinking
from watchline.consumers.migrations import migrate
from watchline.schemas.records import SinkRecord
from watchline.schemas.topics import Topics

RUNS = 120
ENDED = "select count(*) from runs where ended_at is not null"
AGES = 10**8  # seconds: the records are of a fixed day


def history(first: int, last: int) -> list[SinkRecord | bytes]:
    """Runs that start and end, a declaration that changes, incidents that open and resolve, letters."""
    story: list[SinkRecord | bytes] = []
    for number in range(first, last):
        name, revision = f"run {number}", 10 * number
        story += [records.started(name, revision=revision + 1), records.ended(name, revision=revision + 2)]
        if number % 10 == 0:
            story += [
                records.declared(revision=revision + 3, owner=f"owner {number}"),
                records.advanced(f"2026-11-{number // 10 + 1:02}", revision=revision + 4),
                records.incident(f"incident {number}", revision=revision + 5),
                records.resolved(f"incident {number}", revision=revision + 6),
                records.letter(number),
            ]
    return story


async def test_a_sink_on_a_restored_dump_ends_in_the_rows_of_one_that_read_everything(
    broker: Broker, topics: Topics, postgres: Postgres, database: str, tmp_path: Path
) -> None:
    before, after = history(0, RUNS // 2), history(RUNS // 2, RUNS)
    file, restored = tmp_path / "dump", f"t_{uuid4().hex[:12]}"
    watching = await asyncpg.connect(database)
    async with running(settings_for(broker, topics, database, alert_max_age_seconds=AGES)):
        await produce(broker, topics, before)
        await until(watching, ENDED, RUNS // 2)
        await dump(database, file)  # the sink goes on
        await produce(broker, topics, after)
        await until(watching, ENDED, RUNS)
        await until(watching, "select count(*) from dead_letters", RUNS // 10)
    await watching.close()

    dsn = await create_database(postgres, restored)
    try:
        await restore(dsn, file)
        await migrate(dsn)
        looking = await asyncpg.connect(dsn)
        again = await looking.fetchval(ENDED)
        async with running(settings_for(broker, topics, dsn, alert_max_age_seconds=AGES)):
            await until(looking, ENDED, RUNS)
            await until(looking, "select count(*) from dead_letters", RUNS // 10)
            await until(looking, "select count(*) from incidents where status = 'resolved'", RUNS // 10)
        found = await Sinking(dsn, looking).everything()
        await looking.close()
    finally:
        await drop_database(postgres, restored)

    assert RUNS // 2 <= again < RUNS, "the dump holds everything: nothing had to be rewound"
    expected = await folded(postgres, [*before, *after])
    assert {table: len(rows) for table, rows in found.items()} == {table: len(rows) for table, rows in expected.items()}
    assert found == expected


async def folded(postgres: Postgres, story: list[SinkRecord | bytes]) -> dict[str, list[dict[str, object]]]:
    """The tables after one writer has stored everything at once."""
    name = f"t_{uuid4().hex[:12]}"
    dsn = await create_database(postgres, name)
    try:
        await migrate(dsn)
        connection = await asyncpg.connect(dsn)
        sinking = Sinking(dsn, connection)
        await sinking.join()
        await sinking.store(*story)
        everything = await sinking.everything()
        await sinking.writer.close()
        await connection.close()
    finally:
        await drop_database(postgres, name)
    return everything
