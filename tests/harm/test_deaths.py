"""A job that dies without a word: the log, the outbox and what the SDK last knew explain every event it emitted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from brokers.kinds import Broker
from harm.lives import live, read_lines
from harm.records import events_in_log, events_in_outbox, ids_of
from harm.worlds import NOWHERE
from watchline.schemas import Topics

DEATHS = pytest.mark.parametrize(("how", "code"), [("killed", -9), ("left", 9)])


@DEATHS
def test_without_kafka_all_is_on_disk_that_was_said_to_be(how: str, code: int, tmp_path: Path, outbox: Path) -> None:
    settings = {"WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": NOWHERE, "WATCHLINE_OUTBOX_DIR": str(outbox)}

    life = live("journal", tmp_path / "life", settings, arguments=[how])

    assert life.code == code
    explain(tmp_path / "life", log=set(), waiting=ids_of(events_in_outbox(outbox)))


@DEATHS
async def test_with_kafka_all_is_in_the_log_that_was_said_to_be(
    how: str, code: int, tmp_path: Path, outbox: Path, broker: Broker, topics: Topics
) -> None:
    settings = {
        "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "WATCHLINE_TOPIC_PREFIX": topics.prefix,
        "WATCHLINE_OUTBOX_DIR": str(outbox),
    }

    life = await asyncio.to_thread(live, "journal", tmp_path / "life", settings, arguments=[how])

    log = ids_of(await events_in_log(broker.bootstrap_servers, [topics.runs]))
    assert life.code == code
    assert log
    explain(tmp_path / "life", log=log, waiting=ids_of(events_in_outbox(outbox)))


def explain(folder: Path, *, log: set[str], waiting: set[str]) -> None:
    """Every event of the journal is in the log, on disk, or among those that the SDK last held or had dropped."""
    emitted = set(read_lines(folder / "journal.jsonl"))
    known = read_lines(folder / "counters.jsonl")[-1]
    dropped = sum(known["dropped"].values())
    missing = emitted - log - waiting
    assert (len(emitted), known["emitted"]) == (400, 400)
    assert known["emitted"] == known["acknowledged"] + known["spooled"] + known["pending"] + dropped
    assert log | waiting <= emitted
    assert len(log) >= known["acknowledged"]
    assert len(waiting | log) >= known["acknowledged"] + known["spooled"]
    assert len(missing) <= known["pending"] + dropped
