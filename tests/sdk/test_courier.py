"""The background thread, with a fake in place of Kafka."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from watchline.schemas import WatermarkUnavailable
from watchline.sdk.courier import Courier
from watchline.sdk.life import Life
from watchline.sdk.message import Message, Rank, Rejected, Settle
from watchline.sdk.outbox import Outbox

PATIENT = 30.0


class FakeKafka:
    """A carrier that can be down, slow, silent, or refuse single messages."""

    def __init__(self) -> None:
        self.log: list[Message] = []
        self.up = True
        self.silent = False
        self.lag = 0.0  # from having a message to saying so
        self.refused: set[Message] = set()
        self.opened = 0

    async def open(self) -> None:
        self.opened += 1
        if not self.up:
            raise ConnectionRefusedError("down")
        if self.silent:
            await asyncio.Event().wait()

    async def send(self, messages: Sequence[Message], settle: Settle) -> None:
        for message in messages:
            if not self.up:
                settle(message, ConnectionResetError("down"))
            elif message in self.refused:
                settle(message, Rejected("too large"))
            else:
                self.log.append(message)
                await asyncio.sleep(self.lag)
                settle(message, None)

    async def read_values(self, topic: str, key: bytes) -> list[bytes]:
        if topic == "silent":
            await asyncio.Event().wait()
        return [message.value for message in self.log if (message.topic, message.key) == (topic, key)]

    async def close(self, seconds: float) -> None:
        pass


Make = Callable[..., Courier]


@pytest.fixture
def kafka() -> FakeKafka:
    return FakeKafka()


@pytest.fixture
def make(kafka: FakeKafka, tmp_path: Path) -> Iterator[Make]:
    made = []

    def courier(*, max_events: int = 10_000) -> Courier:
        outbox = Outbox(tmp_path / "outbox", max_bytes=1 << 20)
        made.append(Courier(lambda: kafka, outbox, max_events=max_events, max_bytes=1 << 20))
        return made[-1]

    yield courier
    for item in made:
        item.close(1.0)


def message(value: object, rank: Rank = Rank.END) -> Message:
    return Message("t", b"k", str(value).encode(), rank)


def values(kafka: FakeKafka) -> list[str]:
    return [item.value.decode() for item in kafka.log]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENT
    while not condition():
        assert time.monotonic() < deadline, "never happened"
        threading.Event().wait(0.01)


def test_messages_arrive_in_order(make: Make, kafka: FakeKafka) -> None:
    courier = make()

    for n in range(2000):
        courier.emit(message(n))

    assert courier.flush(PATIENT)
    assert values(kafka) == [str(n) for n in range(2000)]
    assert courier.counters().acknowledged == 2000


def test_nothing_is_opened_before_the_first_message(make: Make, kafka: FakeKafka) -> None:
    courier = make()

    assert courier.flush(PATIENT)
    assert kafka.opened == 0
    assert "watchline" not in [thread.name for thread in threading.enumerate()]


def test_what_is_emitted_while_kafka_is_down_arrives_in_order_when_it_is_back(make: Make, kafka: FakeKafka) -> None:
    courier = make()
    kafka.up = False
    for n in range(10):
        courier.emit(message(n))
    wait_until(lambda: kafka.opened > 1)

    kafka.up = True

    wait_until(lambda: courier.counters().pending == 0)
    assert values(kafka) == [str(n) for n in range(10)]


def test_a_connection_lost_while_sending_repeats_the_same_messages(make: Make, kafka: FakeKafka) -> None:
    courier = make()
    courier.emit(message("first"))
    assert courier.flush(PATIENT)
    kafka.up = False
    courier.emit(message("second"))
    wait_until(lambda: kafka.opened > 1)
    kafka.up = True

    wait_until(lambda: courier.counters().pending == 0)

    assert values(kafka) == ["first", "second"]


def test_a_message_that_is_refused_does_not_hold_up_the_others(make: Make, kafka: FakeKafka) -> None:
    courier = make()
    bad = message("bad")
    kafka.refused.add(bad)

    for item in (message("a"), bad, message("b")):
        courier.emit(item)

    assert courier.flush(PATIENT)
    assert values(kafka) == ["a", "b"]
    assert courier.counters().dropped == {"rejected": 1}


def test_what_is_left_at_the_end_goes_to_disk_and_the_next_process_sends_it(make: Make, kafka: FakeKafka) -> None:
    first, second = make(), make()
    kafka.up = False
    first.emit(message("kept"))
    first.emit(message("beat", Rank.HEARTBEAT))
    first.close(1.0)

    kafka.up = True
    second.emit(message("new"))

    assert second.flush(PATIENT)
    assert values(kafka) == ["kept", "new"]
    assert (first.counters().spooled, first.counters().dropped) == (1, {"heartbeat_expired": 1})
    assert (second.counters().emitted, second.counters().resent) == (1, 1)


def test_a_segment_that_can_not_be_sent_stays(make: Make, kafka: FakeKafka, tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", max_bytes=1 << 20)
    outbox.store([message("kept")])
    kafka.up = False

    courier = make()
    courier.emit(message("new"))
    wait_until(lambda: kafka.opened > 1)
    courier.close(1.0)

    with outbox.claim() as segment:
        assert segment is not None
        assert [item.value for item in segment.messages] == [b"kept"]


def test_closing_a_silent_connection_takes_the_budget_and_no_more(make: Make, kafka: FakeKafka) -> None:
    kafka.silent = True
    courier = make()
    courier.emit(message("kept"))
    closing = threading.Thread(target=courier.close, args=(1.0,))

    closing.start()
    closing.join(PATIENT)

    assert not closing.is_alive()
    assert courier.counters().spooled == 1


def test_a_message_after_the_end_of_the_process_goes_to_disk(make: Make, kafka: FakeKafka) -> None:
    courier = make()
    courier.close_for_good(1.0)

    courier.emit(message("late"))

    assert kafka.log == []
    assert courier.counters().spooled == 1


def test_a_courier_that_was_closed_starts_again(make: Make, kafka: FakeKafka) -> None:
    courier = make()
    courier.emit(message(1))
    courier.close(PATIENT)

    courier.emit(message(2))

    assert courier.flush(PATIENT)
    assert values(kafka) == ["1", "2"]


def test_a_full_buffer_drops_and_counts(make: Make, kafka: FakeKafka) -> None:
    kafka.silent = True
    courier = make(max_events=10)

    for n in range(25):
        courier.emit(message(n))

    now = courier.counters()
    assert (now.emitted, now.pending, now.dropped) == (25, 10, {"buffer_full": 15})


def test_reading_sees_what_was_emitted_before(make: Make) -> None:
    courier = make()
    courier.emit(message("5"))

    assert courier.read_values("t", b"k", PATIENT) == [b"5"]


@pytest.mark.parametrize("topic", ["silent", "t"])
def test_reading_ends_in_time_with_an_error_that_says_so(make: Make, kafka: FakeKafka, topic: str) -> None:
    kafka.up = topic == "silent"
    courier = make()
    courier.emit(message("5"))

    with pytest.raises(WatermarkUnavailable, match="can't be read"):
        courier.read_values(topic, b"k", 0.5)


def test_a_fork_finds_no_thread_and_nothing_is_sent_twice_or_forgotten(make: Make, kafka: FakeKafka) -> None:
    courier = make()
    kafka.lag = 0.05
    courier.emit(message("before"))
    wait_until(lambda: kafka.log != [])

    courier.before_fork()
    courier.emit(message("meanwhile"))
    threads = [thread.name for thread in threading.enumerate()]
    courier.after_fork_in_parent()

    assert courier.flush(PATIENT)
    assert "watchline" not in threads
    assert values(kafka) == ["before", "meanwhile"]


def test_a_connection_that_is_given_up_half_way_is_closed(make: Make, kafka: FakeKafka) -> None:
    """aiokafka forgets the connection that it was cancelled in, and a child would inherit it."""
    forgotten: list[object] = []  # and so not closed by the way
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        async def open_and_hang() -> None:
            forgotten.append(await asyncio.get_running_loop().create_connection(asyncio.Protocol, *address))
            await asyncio.Event().wait()

        kafka.open = open_and_hang  # type: ignore[method-assign]
        courier = make()
        courier.emit(message("kept"))
        connection, _ = server.accept()
        connection.settimeout(PATIENT)
        wait_until(lambda: forgotten != [])

        courier.before_fork()

        with connection, suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_a_fork_takes_no_longer_than_its_budget_when_kafka_is_silent(make: Make, kafka: FakeKafka) -> None:
    kafka.silent = True
    courier = make()
    courier.emit(message("kept"))
    forking = threading.Thread(target=courier.before_fork)

    forking.start()
    forking.join(PATIENT)

    assert not forking.is_alive()
    assert courier.counters().pending == 1


def test_who_reads_while_another_thread_forks_gets_an_answer_all_the_same(make: Make, kafka: FakeKafka) -> None:
    courier = make()
    courier.emit(message("5"))
    assert courier.flush(PATIENT)
    kafka.silent = True
    courier.before_fork()
    courier.after_fork_in_parent()
    found: list[list[bytes]] = []
    reading = threading.Thread(target=lambda: found.append(courier.read_values("t", b"k", PATIENT)))

    reading.start()
    wait_until(lambda: kafka.opened == 2)
    courier.before_fork()
    kafka.silent = False
    courier.after_fork_in_parent()
    reading.join(PATIENT)

    assert found == [[b"5"]]


def test_who_reads_while_another_thread_forks_begins_no_thread_before_it_is_over(make: Make, kafka: FakeKafka) -> None:
    courier = make()
    courier.emit(message("5"))
    assert courier.flush(PATIENT)
    found: list[list[bytes]] = []
    reading = threading.Thread(target=lambda: found.append(courier.read_values("t", b"k", PATIENT)))

    courier.before_fork()
    reading.start()
    reading.join(0.2)  # time enough to begin one
    threads = [thread.name for thread in threading.enumerate()]
    courier.after_fork_in_parent()
    reading.join(PATIENT)

    assert "watchline" not in threads
    assert found == [[b"5"]]


def test_a_fork_ends_a_thread_that_is_just_being_begun(
    make: Make, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    courier, running = make(), threading.Event()

    class Slow(Life):
        def __init__(self, deliver: Any) -> None:
            super().__init__(deliver)
            running.set()
            threading.Event().wait(0.2)  # longer than a fork takes that does not wait for it

    monkeypatch.setattr("watchline.sdk.courier.Life", Slow)
    emitting = threading.Thread(target=courier.emit, args=(message("5"),))

    emitting.start()
    running.wait(PATIENT)
    courier.before_fork()
    emitting.join(PATIENT)
    threads = [thread.name for thread in threading.enumerate()]
    courier.after_fork_in_parent()

    assert "watchline" not in threads
    assert courier.flush(PATIENT)


def test_a_disk_that_takes_nothing_costs_no_event_while_memory_has_room(
    make: Make, kafka: FakeKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchline.sdk.courier.SPOOL_AFTER_SECONDS", 0.0)
    (tmp_path / "outbox").write_text("in the way")
    kafka.up = False
    courier = make()
    for n in range(5):
        courier.emit(message(n))
    wait_until(lambda: kafka.opened > 2)

    kafka.up = True

    wait_until(lambda: courier.counters().pending == 0)
    assert values(kafka) == [str(n) for n in range(5)]
    assert courier.counters().dropped == {}


def test_without_a_thread_to_be_had_events_wait_and_go_to_disk_at_the_end(
    make: Make, kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    courier = make()

    with pytest.raises(RuntimeError, match="new thread"):
        courier.emit(message("kept"))
    courier.close(1.0)

    assert courier.counters().spooled == 1


class Beater:
    """A run that wants to be asked often, `times` times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.done = threading.Event()

    def beat(self) -> float | None:
        self.left -= 1
        if self.left == 0:
            self.done.set()
            return None
        return 0.01


def test_runs_that_are_watched_are_asked_until_they_have_ended(make: Make) -> None:
    courier = make()
    beater = Beater(3)

    courier.watch(beater, 0.01)
    courier.emit(message("start"))

    assert beater.done.wait(PATIENT)
    assert courier.flush(PATIENT)
    assert beater.left == 0


def test_runs_are_watched_on_after_a_fork_though_nothing_is_emitted(make: Make) -> None:
    courier = make()
    beater = Beater(2)
    courier.emit(message("start"))
    assert courier.flush(PATIENT)
    courier.before_fork()

    courier.watch(beater, 0.01)
    courier.after_fork_in_parent()

    assert beater.done.wait(PATIENT)
