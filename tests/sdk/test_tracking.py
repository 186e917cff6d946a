"""`track`: a run round every call, and a function that behaves as it did."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Any

import pytest

from watchline.schemas import RunEnded
from watchline.sdk import Pipeline, Run, TrackedPipeline, current_run
from watchline.sdk.testing import Recorder, record


@pytest.fixture
def recorded() -> tuple[TrackedPipeline, Recorder]:
    client, recorder = record()
    return client.pipeline(Pipeline(name="orders")), recorder


def statuses(recorder: Recorder) -> list[str]:
    return [event.status for event in recorder.events if isinstance(event, RunEnded)]


def test_a_function_keeps_its_result_and_its_face(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    result = object()

    @orders.track
    def load(a: int, *, b: int = 2) -> object:
        """Load."""
        run = current_run()
        assert run is not None
        run.add(inserts=a + b)
        return result

    assert load(1, b=3) is result
    assert (load.__name__, load.__doc__) == ("load", "Load.")
    assert list(inspect.signature(load).parameters) == ["a", "b"]
    assert recorder.raw[-1]["inserts"] == 4


def test_a_function_keeps_its_exception(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    error = ValueError("no")

    @orders.track
    def load() -> None:
        raise error

    with pytest.raises(ValueError, match="no") as caught:
        load()

    assert caught.value is error
    assert statuses(recorder) == ["failed"]


def test_a_parameter_named_run_receives_it_unless_the_caller_gives_one(
    recorded: tuple[TrackedPipeline, Recorder],
) -> None:
    orders, recorder = recorded

    @orders.track
    def load(day: str, run: Run | None = None) -> Run | None:
        return run

    found = load("monday")

    assert found is not None
    assert recorder.raw[-1]["run_id"] == str(found.id)
    assert load("monday", run=found) is found
    assert len(statuses(recorder)) == 2


async def test_a_coroutine_stays_one(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    @orders.track
    async def load(n: int) -> int:
        await asyncio.sleep(0)
        run = current_run()
        assert run is not None
        run.add(inserts=n)
        return n

    results = await asyncio.gather(*(load(n) for n in range(5)))

    assert inspect.iscoroutinefunction(load)
    assert results == [0, 1, 2, 3, 4]
    assert sorted(event["inserts"] for event in recorder.raw if event["event_type"] == "run.ended") == results


def echo() -> Generator[Any, Any, str]:
    """Answer what is sent or thrown."""
    answer: Any = "ready"
    while answer != "stop":
        try:
            answer = yield answer
        except KeyError as error:
            answer = error
    return "done"


def test_a_generator_keeps_its_protocol(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    error = KeyError("x")
    tracked = orders.track(echo)

    talk = tracked()
    heard = [next(talk), talk.send("a"), talk.throw(error)]
    with pytest.raises(StopIteration) as end:
        talk.send("stop")

    assert inspect.isgeneratorfunction(tracked)
    assert heard == ["ready", "a", error]
    assert end.value.value == "done"
    assert statuses(recorder) == ["succeeded"]


def test_a_generator_that_is_closed_early_aborts_its_run(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    cleaned = []

    @orders.track
    def rows() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            cleaned.append(current_run())

    talk = rows()
    assert isinstance(talk, Generator)
    next(talk)
    talk.close()

    assert len(cleaned) == 1
    assert cleaned[0] is not None
    assert statuses(recorder) == ["aborted"]


def test_a_waiting_generator_is_not_its_caller_s_current_run(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, _ = recorded

    @orders.track
    def rows() -> Iterator[Run | None]:
        yield current_run()
        yield current_run()

    first, second = rows(), rows()
    seen = [next(first), current_run(), next(second), current_run(), next(first)]

    assert seen[1] is seen[3] is None
    assert seen[0] is seen[4] is not seen[2]


def test_a_generator_starts_its_run_when_it_is_first_asked(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    tracked = orders.track(echo)

    talk = tracked()
    before = len(recorder.messages)
    next(talk)

    assert before == 0
    assert recorder.raw[-1]["event_type"] == "run.started"


async def async_echo() -> AsyncGenerator[Any, Any]:
    """Answer what is sent or thrown."""
    answer: Any = "ready"
    while answer != "stop":
        try:
            answer = yield answer
        except KeyError as error:
            answer = error


async def test_an_async_generator_keeps_its_protocol(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    error = KeyError("x")
    tracked = orders.track(async_echo)

    talk = tracked()
    heard = [await anext(talk), await talk.asend("a"), await talk.athrow(error)]
    with pytest.raises(StopAsyncIteration):
        await talk.asend("stop")

    assert inspect.isasyncgenfunction(tracked)
    assert heard == ["ready", "a", error]
    assert statuses(recorder) == ["succeeded"]


async def test_an_async_generator_that_is_closed_early_aborts_its_run(
    recorded: tuple[TrackedPipeline, Recorder],
) -> None:
    orders, recorder = recorded
    cleaned = []

    @orders.track
    async def rows() -> AsyncIterator[Run | None]:
        try:
            while True:
                yield current_run()
        finally:
            cleaned.append(current_run())

    talk = rows()
    assert isinstance(talk, AsyncGenerator)
    seen = await anext(talk)
    await talk.aclose()

    assert cleaned == [seen]
    assert seen is not None
    assert current_run() is None
    assert statuses(recorder) == ["aborted"]


async def test_an_async_generator_keeps_its_exception(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    error = ValueError("no")

    @orders.track
    async def rows() -> AsyncIterator[int]:
        yield 1
        raise error

    with pytest.raises(ValueError, match="no") as caught:
        assert [row async for row in rows()] == [1]

    assert caught.value is error
    assert statuses(recorder) == ["failed"]


def test_a_method_can_be_tracked(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    class Job:
        @orders.track
        def load(self, n: int) -> tuple[Job, int]:
            return self, n

    job = Job()

    assert job.load(3) == (job, 3)
    assert statuses(recorder) == ["succeeded"]


async def test_an_inactive_pipeline_s_functions_are_not_called(caplog: pytest.LogCaptureFixture) -> None:
    client, recorder = record()
    paused = client.pipeline(Pipeline(name="p", active=False))
    called = []

    @paused.track
    def load() -> int:
        called.append(1)
        return 1

    @paused.track
    async def load_async() -> int:
        called.append(1)
        return 1

    @paused.track
    def rows() -> Iterator[int]:
        called.append(1)
        yield 1

    @paused.track
    async def rows_async() -> AsyncIterator[int]:
        called.append(1)
        yield 1

    assert load() is None
    assert await load_async() is None
    assert list(rows()) == []
    assert [row async for row in rows_async()] == []
    assert called == []
    assert [event["event_type"] for event in recorder.raw] == ["pipeline.declared"]
    assert "inactive" in caplog.text
