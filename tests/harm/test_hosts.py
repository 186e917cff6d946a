"""Every shape of a job, with Kafka and without: it ends as it would have ended without us, and no event is lost."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from brokers.kinds import Broker
from harm.bounds import assert_unharmed
from harm.conftest import Bare
from harm.lives import Life, live
from harm.records import events_in_log, events_in_outbox, ids_of
from harm.worlds import NOWHERE
from watchline.schemas import Topics


@dataclass(frozen=True, slots=True)
class Host:
    """A job, how it ends, the events that it emits, and those that its processes account for at their exit.

    None: it depends on how far Kafka has come.
    """

    job: str
    code: int
    events: int | None
    accounted: int | None


HOSTS = [
    Host("plain", 0, 81, 81),
    Host("fails", 1, 3, 3),
    Host("exits", 3, 3, 3),
    Host("leaves", 7, None, 0),  # os._exit runs nothing at all
    Host("forks", 0, 15, 9),  # two children leave by os._exit
    Host("prefork", 0, 12, 12),
    Host("processes", 0, 24, 24),
    Host("threads", 0, 404, 404),
    Host("loops", 0, 43, 43),
    Host("terminated", -15, 3, 3),
    Host("handles", 42, 3, 3),
    Host("fails_at_exit", 0, 3, 3),
    Host("reports_at_exit", 0, 3, 3),
    Host("strange_values", 0, 3, 3),
    Host("without_streams", 0, 3, 3),
    Host("with_broken_logging", 0, 3, 3),
]
EVERY = pytest.mark.parametrize("host", HOSTS, ids=[host.job for host in HOSTS])


@EVERY
def test_a_job_without_kafka_lives_as_without_us_and_its_events_wait(
    host: Host, bare: Bare, tmp_path: Path, outbox: Path
) -> None:
    without = bare(host.job)

    watched = live(host.job, tmp_path / "life", settings(NOWHERE, outbox))

    assert without.code == host.code
    assert_unharmed(watched, without)
    assert_accounted(host, watched)
    assert host.events in (None, len(ids_of(events_in_outbox(outbox))))


@EVERY
async def test_a_job_with_kafka_lives_as_without_us_and_its_events_arrive(
    host: Host, bare: Bare, tmp_path: Path, outbox: Path, broker: Broker, topics: Topics
) -> None:
    without = bare(host.job)

    world = settings(broker.bootstrap_servers, outbox) | {"WATCHLINE_TOPIC_PREFIX": topics.prefix}
    watched = await asyncio.to_thread(live, host.job, tmp_path / "life", world)

    log = await events_in_log(broker.bootstrap_servers, (topics.pipelines, topics.runs))
    assert_unharmed(watched, without)
    assert_accounted(host, watched)
    assert len(log) == len(ids_of(log))
    assert host.events in (None, len(ids_of(log + events_in_outbox(outbox))))


def settings(address: str, outbox: Path) -> dict[str, str]:
    return {"WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": address, "WATCHLINE_OUTBOX_DIR": str(outbox)}


def assert_accounted(host: Host, life: Life) -> None:
    """What the processes said at their exit adds up, and nothing is lost."""
    assert all(account.adds_up for account in life.accounts), life.said
    assert [account for account in life.accounts if account.pending or account.dropped] == []
    assert host.accounted in (None, sum(account.emitted for account in life.accounts)), life.said
