"""However the log is cut into batches and read again, the tables end the same."""

from __future__ import annotations

import random
from itertools import count

import pytest

from sinking.records import (
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


@pytest.mark.parametrize("seed", range(6))
async def test_any_cuts_and_any_repetitions_give_the_same_tables(sinking: Sinking, seed: int) -> None:
    chance = random.Random(seed)
    log = sent(*history())
    for one in log:
        await sinking.store_sent([one])
    expected = await sinking.everything()
    await sinking.clear()

    position = 0
    while position < len(log):
        size = chance.randint(1, 25)
        await sinking.store_sent(log[position : position + size])
        position += size
        if chance.random() < 0.4:  # the offsets were lost: read again from an earlier place
            position -= chance.randint(0, position)

    assert await sinking.everything() == expected
    assert len(expected["runs"]) == 12
    assert len(expected["dead_letters"]) == 6
