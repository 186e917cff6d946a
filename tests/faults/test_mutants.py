"""The checks of these tests can fail: each of these planted bugs is noticed by one of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid5

import pytest

from brokers.kinds import Broker
from faults import test_notifier as notifier
from faults.invariants.changelogs import Changelog
from faults.invariants.watching import watching
from faults.judged import Judged, undeclared_history
from faults.lives import QUICK, die
from faults.streamed import Streamed
from slack.fake import Answer, FakeSlack
from stack.contents import rows
from stack.services import services
from watchline.schemas import Event, RunStarted, Topics, WatermarkAdvanced

FOLDER = Path(__file__).parent
NAMESPACE = UUID("6f0d3c52-5c8e-4f0e-9a70-4d1f0e7a9b11")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SHORT_SESSIONS = pytest.mark.durable("a killed member keeps its partitions for a session; the embedded one wants long")
pytestmark = pytest.mark.faults


def planted(mutant: str) -> dict[str, str]:
    """The environment of a process with the bug in it; none for an empty name."""
    path = f"{FOLDER / 'planting'}:{FOLDER.parent}"
    return {"WATCHLINE_TEST_MUTANT": mutant, "PYTHONPATH": path} if mutant else {}


# The sink: with the bug, through three deaths, then to the end.


@SHORT_SESSIONS
@pytest.mark.parametrize(
    ("mutant", "failpoints"),
    [
        ("sink.commit_before_the_rows", ("P3:kill:5", "P3:kill:10")),
        ("sink.offsets_off_by_one", ("P4:kill:5", "P4:kill:10", "P4:kill:8")),
        ("sink.drop_the_bytes_of_dead_letters", ()),
        ("sink.keep_repeated_dead_letters", ()),
        ("sink.revision_guard_removed", ()),
        ("sink.naive_time", ()),
        ("sink.rows_before_their_offsets", ()),
        ("sink.lose_alerts", ()),
    ],
)
async def test_a_bug_in_the_sink_is_noticed(
    mutant: str, failpoints: Sequence[str], tmp_path: Path, broker: Broker, judged: Judged, database: str
) -> None:
    more = {**QUICK, **planted(mutant), "TZ": "America/New_York"}
    async with watching(database, judged.topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, judged.topics, more) as running:
            for failpoint in failpoints:
                await die(running, "sink", failpoint)
            running.start("sink")
            await judged.stored(database)

    with pytest.raises(AssertionError):
        await judged.check(database, moments)


@SHORT_SESSIONS
async def test_a_sink_without_a_bug_passes_the_same_check_in_any_time_zone(
    tmp_path: Path, broker: Broker, judged: Judged, database: str
) -> None:
    more = {**QUICK, "TZ": "America/New_York"}
    async with watching(database, judged.topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, judged.topics, more) as running:
            running.start("sink")
            await judged.stored(database)

    await judged.check(database, moments)


# The streams.


@SHORT_SESSIONS
@pytest.mark.parametrize(
    ("mutant", "failpoints"),
    [
        ("", ()),
        ("streams.acknowledge_on_exception", ()),
        ("streams.commit_before_the_changelog", ("F6:kill:4,F1:sleep:0.02", "F6:kill:4,F1:sleep:0.02")),
    ],
)
async def test_a_batch_that_fails_once_is_folded_all_the_same_and_a_bug_in_that_is_noticed(
    mutant: str, failpoints: Sequence[str], tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    streamed = Streamed(broker, topics, database)
    await streamed.send(undeclared_history())
    more = {**QUICK, **planted(mutant)}
    with services(tmp_path, broker.bootstrap_servers, database, topics, more) as running:
        running.launch("sink")
        for failpoint in failpoints:
            await die(running, "streams", failpoint)
        await streamed.finish(running, WATCHLINE_FAILPOINT="F4:raise:3")

    with pytest.raises(AssertionError) if mutant else nullcontext():
        await streamed.check()


@SHORT_SESSIONS
@pytest.mark.parametrize("mutant", ["", "streams.key_mismatch_ignored"])
async def test_a_record_under_a_wrong_key_reaches_the_partition_of_its_pipeline(
    mutant: str, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    events = [RunStarted(event_id=number(n), occurred_at=NOON, pipeline=f"p{n}", run_id=number(-n)) for n in range(20)]
    streamed = Streamed(broker, topics, database)
    await streamed.send(events, key_of=lambda event: b"another")
    with services(tmp_path, broker.bootstrap_servers, database, topics, {**QUICK, **planted(mutant)}) as running:
        running.launch("sink")
        await streamed.finish(running)

    found = await rows(database, "select count(*) from runs")
    held = await Changelog(broker.bootstrap_servers, topics).read()
    assert found == [(20,)]
    assert (b"another" in held.homes) is bool(mutant)


@SHORT_SESSIONS
@pytest.mark.parametrize("mutant", ["", "streams.watermark_goes_back", "streams.skip_dedupe"])
async def test_a_watermark_stands_at_its_highest_and_counts_each_regression_once(
    mutant: str, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    heights = [5, 9, 7, 12, 3, 11]
    events = [advance(at, height) for at, height in enumerate(heights)]
    repeated = [event for event in events for _ in range(2)]
    streamed = Streamed(broker, topics, database)
    await streamed.send(repeated)
    with services(tmp_path, broker.bootstrap_servers, database, topics, {**QUICK, **planted(mutant)}) as running:
        running.launch("sink")
        await streamed.finish(running)

    stored = await rows(database, "select effective, regressions from watermarks")
    lower = sum(height < max(heights[: at + 1]) for at, height in enumerate(heights))
    assert (stored == [(str(max(heights)), lower)]) is not bool(mutant)


def advance(at: int, height: int) -> Event:
    return WatermarkAdvanced(
        event_id=number(1000 + at), occurred_at=NOON + timedelta(minutes=at), pipeline="orders", kind="integer",
        watermark=str(height),
    )  # fmt: skip


def number(n: int) -> UUID:
    return uuid5(NAMESPACE, str(n))


# The notifier.


@pytest.mark.parametrize("mutant", ["", "notifier.mark_before_send", "notifier.never_mark"])
async def test_an_alert_that_slack_did_not_take_is_sent_again_and_any_other_is_not(
    mutant: str, tmp_path: Path, database: str
) -> None:
    async with FakeSlack() as slack:
        slack.answers.append(Answer(503, "busy"))
        more = {**notifier.QUICK, "WATCHLINE_SLACK_WEBHOOK_URL": slack.url, **planted(mutant)}
        with services(tmp_path, "127.0.0.1:1", database, Topics(), more) as running:
            told = await notifier.tell_some(database, 3)
            running.launch("notify")
            with suppress(TimeoutError):  # four is right: three alerts, and the one that was refused
                await slack.wait_for(5, seconds=6)
            running.stop_all()

    heard = notifier.names_of(slack)
    assert (set(heard) == set(told) and heard.total() == len(told)) is not bool(mutant)


@pytest.mark.parametrize("mutant", ["", "notifier.ignore_retry_after"])
async def test_slack_is_left_alone_for_as_long_as_it_asks(mutant: str, tmp_path: Path, database: str) -> None:
    async with FakeSlack() as slack:
        slack.answers.append(Answer(429, "rate_limited", {"Retry-After": "2"}))
        more = {**notifier.QUICK, "WATCHLINE_SLACK_WEBHOOK_URL": slack.url, **planted(mutant)}
        with services(tmp_path, "127.0.0.1:1", database, Topics(), more) as running:
            await notifier.tell_some(database, 1)
            running.launch("notify")
            first, second, *_ = await slack.wait_for(2)

    assert (second.at - first.at >= 2) is not bool(mutant)
