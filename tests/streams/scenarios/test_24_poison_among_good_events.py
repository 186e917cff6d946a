"""Scenario 24: records that nobody can read, or that hold what Postgres can't, each between two good ones.

Through a broker and into Postgres: tests/end_to_end/test_bad_events.py and test_bad_events_among_good.py.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from faust.types.tuples import TP, ConsumerMessage, Message

from folds.log import KEY, NOON, Log, ended, identity, started
from watchline.schemas import RunEnded, RunStarted, encode
from watchline.streams.intake import Homes, Intake, sort_out

HOMES = Homes(4)
HOME = HOMES.of("orders_daily")[1]
EXPECTS = (RunStarted, RunEnded)


def end(**fields: Any) -> bytes:
    """A good end of a run, with `fields` changed."""
    return orjson.dumps(orjson.loads(encode(ended("bad", NOON, inserts=1))) | fields)


def rows_of(text: str) -> bytes:
    return end(inserts=-77).replace(b"-77", text.encode())


REFUSED = {
    "not JSON": (b"\xff\xfe not json", "invalid_utf8"),
    "5 MB": (end(error={"type": "E", "message": "x" * 5_000_000}), "too_large"),
    "a schema of the future": (end(schema_version=9), "unsupported_schema_version"),
    "a run without an identity": (end(run_id="42"), "invalid_uuid"),
    "NaN rows": (rows_of("NaN"), "invalid_json"),
    "infinite rows": (rows_of("Infinity"), "invalid_json"),
    "100,000 tags": (end(labels={f"tag{n}": "x" for n in range(100_000)}), "too_large"),
}
REPAIRED = {
    "-1 rows": (rows_of("-1"), "measurement_dropped"),
    "NUL in a text": (end(error={"type": "E", "message": "a\x00b"}), "text_cleaned"),
}


def between(poison: bytes) -> Intake:
    """A good start, the poison and a good end in one batch of one partition."""
    values = [encode(started("good", NOON)), poison, encode(ended("good", NOON, inserts=5))]
    return sort_out([message(value, offset) for offset, value in enumerate(values)], homes=HOMES, expects=EXPECTS,
                    now=NOON, epoch=0)  # fmt: skip


def message(value: bytes, offset: int) -> Message:
    return ConsumerMessage("t.runs", HOME, offset, 1.5, 0, None, KEY, value, None, tp=TP("t.runs", HOME))


def fold(intake: Intake) -> Log:
    log = Log()
    log.take(intake.taken[HOME])
    return log


@pytest.mark.parametrize(("poison", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_used_becomes_a_letter_with_its_place_and_its_reason(poison: bytes, reason: str) -> None:
    intake = between(poison)

    (letter,) = intake.dead
    assert (letter.source_topic, letter.source_partition, letter.source_offset) == ("t.runs", HOME, 1)
    assert letter.reason == reason


@pytest.mark.parametrize("poison", [each for each, _ in (REFUSED | REPAIRED).values()], ids=[*REFUSED, *REPAIRED])
def test_the_good_events_around_it_are_folded(poison: bytes) -> None:
    good = fold(between(poison)).newest("good")

    assert (good.status, good.inserts) == ("succeeded", 5)


@pytest.mark.parametrize(("poison", "flag"), REPAIRED.values(), ids=list(REPAIRED))
def test_what_can_be_repaired_is_flagged_and_holds_nothing_that_postgres_refuses(poison: bytes, flag: str) -> None:
    intake = between(poison)

    bad = fold(intake).newest("bad")
    assert intake.dead == []
    assert bad.flags == (flag,)
    assert bad.inserts is None or bad.inserts >= 0
    assert "\\u0000" not in bad.model_dump_json()


def test_a_redrive_by_a_version_that_can_read_it_gives_the_run_that_was_missing() -> None:
    log = fold(between(REFUSED["a schema of the future"][0]))
    log.offset = 2
    before = {record.run_id for record in log.runs}

    log.append(ended("bad", NOON, inserts=1))

    assert identity("bad") not in before
    assert log.newest("bad").status == "succeeded"
