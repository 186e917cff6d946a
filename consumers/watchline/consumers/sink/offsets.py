"""Where the sink stands in each partition, and who may move it: the table `sink_offsets`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import asyncpg

TAKE = """
insert into sink_offsets (log_epoch, topic, partition, fence, owner)
select $1, topic, partition, 1, $2 from unnest($3::text[], $4::integer[]) as taken (topic, partition)
order by topic, partition
on conflict (log_epoch, topic, partition) do update
    set fence = sink_offsets.fence + 1, owner = excluded.owner, updated_at = now()
returning topic, partition, fence, next_offset
"""
ADVANCE = """
update sink_offsets s set next_offset = n.next_offset, updated_at = now()
from unnest($2::text[], $3::integer[], $4::bigint[], $5::bigint[]) as n (topic, partition, next_offset, fence)
where s.log_epoch = $1 and s.topic = n.topic and s.partition = n.partition and s.fence = n.fence
returning s.topic, s.partition
"""

Place = tuple[str, int]  # topic and partition


class FenceLost(Exception):
    """Another sink has taken over one of the partitions: nothing of the batch may be written."""

    def __init__(self, places: Iterable[Place]) -> None:
        self.places = tuple(places)
        super().__init__(f"taken over by another sink: {self.places}")


@dataclass(frozen=True, slots=True)
class Claim:
    """A partition taken over: where to read on (None is from the beginning), and the number that proves it is ours."""

    fence: int
    next_offset: int | None


@dataclass(frozen=True, slots=True)
class Advance:
    """A partition's next offset once the batch is stored, under the fence that it was read with."""

    topic: str
    partition: int
    next_offset: int
    fence: int


async def take(
    connection: asyncpg.Connection, places: Iterable[Place], *, log_epoch: int, owner: str
) -> dict[Place, Claim]:
    """Take over the partitions: waits for the former owner's transaction in flight, then fences its next."""
    topics, partitions = zip(*sorted(places), strict=True)
    taken = await connection.fetch(TAKE, log_epoch, owner, topics, partitions)
    return {(row["topic"], row["partition"]): Claim(row["fence"], row["next_offset"]) for row in taken}


async def advance(connection: asyncpg.Connection, advances: list[Advance], *, log_epoch: int) -> None:
    """Move the offsets within the caller's transaction, or raise FenceLost when one of them is not ours any more."""
    columns = zip(*((one.topic, one.partition, one.next_offset, one.fence) for one in advances), strict=True)
    moved = await connection.fetch(ADVANCE, log_epoch, *columns)
    ours = {(row["topic"], row["partition"]) for row in moved}
    lost = [(one.topic, one.partition) for one in advances if (one.topic, one.partition) not in ours]
    if lost:
        raise FenceLost(lost)
