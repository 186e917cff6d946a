"""The story in Kafka and, as a sink would have stored it, in Postgres."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from brokers.kinds import Broker
from sinking.services import produce, settings_for, topic_of
from watchline.consumers.rebuild.log import open_log
from watchline.consumers.sink.incoming import read
from watchline.consumers.sink.offsets import Advance
from watchline.consumers.sink.settings import SinkSettings
from watchline.consumers.sink.writer import Batch, Writer
from watchline.schemas.records import SinkRecord
from watchline.schemas.topics import Topics

AGES = 10**8  # seconds: the story is of a fixed day, and alerts are written of it
Parts = Mapping[int, Sequence[SinkRecord | bytes]]


async def store(broker: Broker, topics: Topics, dsn: str, parts: Parts, *, log_epoch: int = 0) -> SinkSettings:
    """Produce the records of each partition to topics that are empty, and store them; the settings of their sink."""
    targets = Counter((topic_of(topics, one), partition) for partition, records in parts.items() for one in records)
    for partition, records in parts.items():
        await produce(broker, topics, records, partition=partition)
    settings = settings_for(broker, topics, dsn, alert_max_age_seconds=AGES, batch_size=7, log_epoch=log_epoch)
    writer = Writer(dsn, log_epoch=log_epoch, alert_max_age=timedelta(seconds=AGES))
    claims = await writer.claim(targets, owner="test")
    async with open_log(settings) as log:
        async for found in log.read({}, targets):
            now = datetime.now(UTC)
            advances = [Advance(*place, sent[-1].offset + 1, claims[place].fence) for place, sent in found.items()]
            items = [read(one, now=now, log_epoch=log_epoch) for sent in found.values() for one in sent]
            await writer.store(Batch(items, advances, read_at=now))
    await writer.close()
    return settings.model_copy(update={"batch_size": 30})  # a rebuild cuts the log in other places
