"""More events than anybody takes: the job goes on at its pace, memory stays, and what is dropped is counted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median

import pytest

from brokers.kinds import Broker
from harm.bounds import BUSY_SECONDS, EXIT_SECONDS
from harm.lives import live, read_lines
from harm.worlds import NOWHERE
from watchline.schemas import Topics

# After its first tenth the buffer is full and aiokafka loaded. What is written to disk passes through memory once.
GROWTH_KIB = 40 * 1024
COLLAPSE = 20.0  # a loop that slows down with what came before would be hundreds of times slower at its end
LONG_SECONDS = 3600.0  # ten million take 5 minutes on a quiet machine
COUNTS = [200_000, pytest.param(10_000_000, marks=pytest.mark.faults)]


@pytest.mark.parametrize("count", COUNTS)
def test_a_flood_without_kafka_costs_no_memory_and_is_counted(count: int, tmp_path: Path, outbox: Path) -> None:
    assert_drained(count, tmp_path / "life", {"WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": NOWHERE}, outbox)


@pytest.mark.faults
async def test_a_flood_with_kafka_costs_no_memory_and_is_counted(
    tmp_path: Path, outbox: Path, broker: Broker, topics: Topics
) -> None:
    address = {"WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "WATCHLINE_TOPIC_PREFIX": topics.prefix}

    await asyncio.to_thread(assert_drained, 200_000, tmp_path / "life", address, outbox)


def assert_drained(count: int, folder: Path, settings: dict[str, str], outbox: Path) -> None:
    """A flood of `count` ends as it should."""
    settings = settings | {"WATCHLINE_OUTBOX_DIR": str(outbox)}
    life = live("flood", folder, settings, arguments=[str(count)], hanging=LONG_SECONDS)

    (account,) = life.accounts
    tenths = read_lines(folder / "tenths.jsonl")
    memory = [tenth["kib"] for tenth in tenths]
    pace = [tenth["seconds"] for tenth in tenths]
    assert life.seen == (0, f"{count}\n", "")
    assert account.adds_up
    assert (account.emitted, account.pending) == (count, 0)
    assert set(account.reasons) <= {"buffer_full", "heartbeat_expired", "outbox_full"}
    assert max(memory) - memory[0] < GROWTH_KIB, memory
    assert pace[-1] < COLLAPSE * median(pace), pace
    assert life.leaving_seconds < EXIT_SECONDS + BUSY_SECONDS
