"""How far the log reaches: where each partition begins, and where the sink stands in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import asyncpg

from watchline.consumers.sink.offsets import Place
from watchline.schemas.errors import Misconfigured

STOOD = """
select topic, partition, next_offset from public.sink_offsets
where log_epoch = $1 and topic = any($2) and next_offset > 0 order by topic, partition
"""
EPOCHS = """
select log_epoch from public.sink_offsets where next_offset > 0 and log_epoch <> $1 group by 1 order by 1
"""
SIZE = """
select sum(pg_total_relation_size(c.oid))::bigint from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relname = any($1)
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A partition of the log: the oldest offset that it still has, and the next one that the sink will read."""

    topic: str
    partition: int
    begin: int
    stood: int

    @property
    def records(self) -> int:
        """How many there are to read, at most."""
        return max(0, self.stood - self.begin)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a rebuild has to read, and what it can't."""

    stretches: tuple[Stretch, ...]
    older_epochs: tuple[int, ...]

    @property
    def records(self) -> int:
        """How many there are to read in all, at most."""
        return sum(one.records for one in self.stretches)

    def gaps(self) -> list[str]:
        """Why the log does not give everything back, in words; nothing when it does."""
        cut = [one for one in self.stretches if one.begin > 0]
        lost = sum(min(one.begin, one.stood) for one in cut)
        found = [f"{lost:,} older records of {len(cut)} partitions are no longer in the log"] if cut else []
        if self.older_epochs:
            found.append(f"rows of log epoch {', '.join(map(str, self.older_epochs))} are of a log that was lost")
        return found


async def stood(connection: asyncpg.Connection, topics: Iterable[str], *, log_epoch: int) -> dict[Place, int]:
    """Where the sink reads on in each partition of which it has read something."""
    found = await connection.fetch(STOOD, log_epoch, list(topics))
    return {(row["topic"], row["partition"]): row["next_offset"] for row in found}


async def older_epochs(connection: asyncpg.Connection, *, log_epoch: int) -> tuple[int, ...]:
    """Logs that are lost; Misconfigured when the sink has read a newer one than `log_epoch`."""
    others = [row["log_epoch"] for row in await connection.fetch(EPOCHS, log_epoch)]
    if others and others[-1] > log_epoch:
        raise Misconfigured(
            f"the sink has read log epoch {others[-1]}, and WATCHLINE_LOG_EPOCH is {log_epoch}",
            hint=f"set WATCHLINE_LOG_EPOCH={others[-1]}, as for the sink",
        )
    return tuple(others)


def reach_of(stood_at: Mapping[Place, int], begins: Mapping[Place, int], epochs: tuple[int, ...]) -> Reach:
    """The reach of a log whose partitions begin at `begins`, for a sink that stands at `stood_at`."""
    stretches = (Stretch(*place, begins[place], offset) for place, offset in sorted(stood_at.items()))
    return Reach(tuple(stretches), epochs)
