"""Reading the sink's topics a second time: no group, from the oldest record up to where the sink stands."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import (
    AuthenticationFailedError,
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from watchline.consumers.sink.offsets import Place
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import Misconfigured, Unavailable

POLL_MS = 500
PATIENCE_SECONDS = 30.0


class Log:
    """The topics, read by place: a topic and a partition."""

    def __init__(self, consumer: AIOKafkaConsumer, batch_size: int) -> None:
        self._consumer = consumer
        self._batch_size = batch_size

    async def begins(self, places: Iterable[Place]) -> dict[Place, int]:
        """The oldest offset that each place still has."""
        found = await self._consumer.beginning_offsets([TopicPartition(*place) for place in places])
        return {(one.topic, one.partition): offset for one, offset in found.items()}

    async def read(
        self, reached: Mapping[Place, int], targets: Mapping[Place, int]
    ) -> AsyncIterator[dict[Place, list[Any]]]:
        """The records from `reached` (else the oldest) up to before `targets`, in batches, in order by place.

        Unavailable when the log ends before a target, or nothing more of it comes.
        """
        now_at = await self._skip(dict(reached), targets)
        assigned: dict[Place, int] = {}
        patient_until = time.monotonic() + PATIENCE_SECONDS
        while pending := {place: now_at[place] for place in targets if now_at[place] < targets[place]}:
            if pending.keys() != assigned.keys():
                self._assign(assigned := pending)  # drops what was fetched ahead, so only when it must
            found = await self._poll()
            if found:
                patient_until = time.monotonic() + PATIENCE_SECONDS
                now_at |= {place: records[-1].offset + 1 for place, records in found.items()}
                if batch := within(found, targets):
                    yield batch
            else:
                now_at = await self._skip(now_at, targets)  # what was waited for may have been removed meanwhile
                if time.monotonic() > patient_until:
                    raise ends_early(pending, targets)

    def _assign(self, pending: Mapping[Place, int]) -> None:
        self._consumer.assign([TopicPartition(*place) for place in pending])
        for place, offset in pending.items():
            self._consumer.seek(TopicPartition(*place), offset)

    async def _poll(self) -> dict[Place, list[Any]]:
        found = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=self._batch_size)
        return {(one.topic, one.partition): records for one, records in sorted(found.items())}

    async def _skip(self, reached: dict[Place, int], targets: Mapping[Place, int]) -> dict[Place, int]:
        """Where to read on in each target: not before the oldest record that there is."""
        begins = await self.begins(targets)
        return {place: max(reached.get(place, 0), begins[place]) for place in targets}


def within(found: Mapping[Place, list[Any]], targets: Mapping[Place, int]) -> dict[Place, list[Any]]:
    """The records that stand before the targets, without places that have none."""
    kept = {place: [one for one in records if one.offset < targets.get(place, 0)] for place, records in found.items()}
    return {place: records for place, records in kept.items() if records}


def ends_early(pending: Mapping[Place, int], targets: Mapping[Place, int]) -> Unavailable:
    """What to say of a log that gives nothing more, though the sink has read more of it."""
    place, offset = next(iter(pending.items()))
    return Unavailable(
        f"{place[0]}/{place[1]} gives nothing behind offset {offset}, and the sink stands at {targets[place]}",
        hint="is Kafka well? When the topics were lost and made anew, count WATCHLINE_LOG_EPOCH up first: "
        "see docs/production.md, losing the log",
    )


@asynccontextmanager
async def open_log(settings: SinkSettings) -> AsyncIterator[Log]:
    """The log of `settings`; Misconfigured or Unavailable when Kafka refuses or does not answer."""
    consumer = AIOKafkaConsumer(
        **settings.kafka.client_arguments(),
        client_id="watchline-rebuild",
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=settings.fetch_wait_ms,
    )
    try:
        await consumer.start()
        yield Log(consumer, settings.batch_size)
    except (AuthenticationFailedError, GroupAuthorizationFailedError, TopicAuthorizationFailedError) as error:
        raise Misconfigured(f"Kafka refuses us: {error}", hint="check WATCHLINE_KAFKA_*") from error
    except KafkaError as error:
        raise Unavailable(
            f"Kafka at {settings.kafka.bootstrap_servers} does not answer: {error}",
            hint="nothing has changed in the tables; the same command begins anew",
        ) from error
    finally:
        await consumer.stop()
