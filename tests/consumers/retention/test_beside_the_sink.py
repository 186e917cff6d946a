"""A sink as it runs in production prunes too."""

from __future__ import annotations

from datetime import UTC, datetime

from aging.passes import DAY, Passes
from aging.stories import fresh, run_at
from brokers.kinds import Broker
from sinking.services import produce, running, settings_for, until
from watchline.consumers.retention.plan import TABLES
from watchline.schemas.topics import Topics


async def test_a_sink_stores_what_comes_and_prunes_what_is_old(broker: Broker, topics: Topics, passes: Passes) -> None:
    now = datetime.now(UTC)
    await passes.looking.execute(
        "insert into retention (table_name, noted_at) select unnest($1::text[]), $2", TABLES, now - 3 * DAY
    )
    await passes.sinking.store(*fresh(now), run_at(now - 500 * DAY, "old"))

    async with running(settings_for(broker, topics, passes.dsn)):
        await until(passes.looking, "select count(*) from retention where pruned_at is not null", len(TABLES))
        await produce(broker, topics, [run_at(now, "new")])
        await until(passes.looking, "select count(*) from runs", 2)

    assert await passes.value("select count(*) from runs where started_at < $1", now - DAY) == 0
