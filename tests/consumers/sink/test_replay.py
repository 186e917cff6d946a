"""However the log is cut into batches and read again, the tables end the same."""

from __future__ import annotations

import random
from itertools import count

from sinking.records import (
    Sent,
    advanced,
    after,
    anomaly,
    declared,
    ended,
    incident,
    letter,
    name_id,
    resolved,
    sent,
    started,
)
from sinking.tables import Sinking
from watchline.schemas.records import SinkRecord


def history() -> list[SinkRecord]:
    """Some days of three pipelines in one partition, revisions counted up as the streams do."""
    revisions = count(1)
    found: list[SinkRecord] = []
    for pipeline in ("a", "b", "c"):
        found.append(declared(pipeline, revision=next(revisions)))
        for number in range(4):
            run = f"{pipeline}{number}"
            parent = name_id(f"{pipeline}{number - 1}") if number else None
            found += [
                started(run, pipeline=pipeline, revision=next(revisions), parent_run_id=parent),
                incident(run, pipeline=pipeline, fingerprint=pipeline, revision=next(revisions)),
                ended(run, pipeline=pipeline, revision=next(revisions)),
                anomaly(run, pipeline=pipeline, revision=next(revisions)),
                advanced(str(number), pipeline=pipeline, revision=next(revisions)),
            ]
            if number % 2:
                found.append(resolved(run, pipeline=pipeline, fingerprint=pipeline, revision=next(revisions)))
        found += [
            letter(next(revisions)),
            declared(pipeline, revision=next(revisions), owner=None, at=after(hours=1)),
            ended(f"{pipeline}0", pipeline=pipeline, revision=next(revisions), inserts=-1),
        ]
    return found


async def test_any_cuts_and_any_repetitions_give_the_same_tables(sinking: Sinking) -> None:
    log = sent(*history())
    for one in log:
        await sinking.store_sent([one])
    expected = await sinking.everything()

    for seed in range(6):
        await sinking.clear()
        await read_in_pieces(sinking, log, random.Random(seed))

        assert await sinking.everything() == expected, f"seed {seed}"
    assert len(expected["runs"]) == 12
    assert len(expected["dead_letters"]) == 6


async def read_in_pieces(sinking: Sinking, log: list[Sent], chance: random.Random) -> None:
    """Store the log in batches of any size; now and then the offsets are lost and an earlier part is read again."""
    position = 0
    while position < len(log):
        size = chance.randint(1, 25)
        await sinking.store_sent(log[position : position + size])
        position += size
        if chance.random() < 0.4:
            position -= chance.randint(0, position)
