"""Folding the log into the fresh tables, with the sink's own writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import asyncpg

from watchline.consumers.rebuild.log import Log
from watchline.consumers.rebuild.tables import FRESH, SPARE
from watchline.consumers.sink.offsets import Advance, Place
from watchline.consumers.sink.reading import decode_all
from watchline.consumers.sink.settings import SinkSettings
from watchline.consumers.sink.writer import Batch, Writer
from watchline.schemas.failpoints import failpoint

OWNER = "watchline rebuild"


class Fold:
    """What has been folded so far: `reached` says how far. Only `connection` sees what is not committed yet."""

    def __init__(
        self, connection: asyncpg.Connection, log: Log, settings: SinkSettings, folded: Callable[[int], None]
    ) -> None:
        self._connection = connection
        self._log = log
        self._epoch = settings.log_epoch
        self._writer = Writer(
            "", log_epoch=settings.log_epoch, connection=connection,
            alert_max_age=timedelta(seconds=settings.alert_max_age_seconds),
        )  # fmt: skip
        self._folded = folded
        self._fences: dict[Place, int] = {}
        self.reached: dict[Place, int] = {}
        self.records = 0

    def missing(self, targets: Mapping[Place, int]) -> int:
        """How many records stand between here and `targets`, at most."""
        return sum(max(0, offset - self.reached.get(place, 0)) for place, offset in targets.items())

    async def up_to(self, targets: Mapping[Place, int]) -> None:
        """Fold every record before `targets`; each batch is a transaction, or a part of the caller's."""
        await self._connection.execute(f"set search_path = {FRESH}, {SPARE}")
        await self._claim(place for place in targets if place not in self._fences)
        async for found in self._log.read(self.reached, targets):
            await self._writer.store(await self._batch(found))
            self.reached |= {place: records[-1].offset + 1 for place, records in found.items()}
            self.records += (count := sum(map(len, found.values())))
            self._folded(count)
            failpoint("R1")  # the old tables are in force
        self.reached |= targets

    async def _claim(self, places: Iterable[Place]) -> None:
        if new := list(places):
            claims = await self._writer.claim(new, owner=OWNER)
            self._fences |= {place: claim.fence for place, claim in claims.items()}

    async def _batch(self, found: Mapping[Place, list[Any]]) -> Batch:
        now = datetime.now(UTC)
        advances = [Advance(*place, records[-1].offset + 1, self._fences[place]) for place, records in found.items()]
        records = chain.from_iterable(found.values())
        return Batch(await decode_all(records, now=now, log_epoch=self._epoch), advances, read_at=now)
