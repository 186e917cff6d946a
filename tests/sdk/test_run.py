"""One run: what it reports, and that the job's own way is left alone."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from watchline.schemas import RunEnded, RunHeartbeat, RunStarted, WatermarkAdvanced, WatermarkUnavailable
from watchline.sdk import Pipeline, TrackedPipeline, Watchline, current_run
from watchline.sdk.identity import compose_id, make_id
from watchline.sdk.outlet import Console
from watchline.sdk.testing import Recorder, record

EXITS: list[tuple[BaseException, str, str | None, str | None]] = [
    (ValueError("no rows"), "failed", "ValueError", "no rows"),
    (KeyboardInterrupt(), "aborted", "KeyboardInterrupt", ""),
    (asyncio.CancelledError("stop"), "aborted", "asyncio.exceptions.CancelledError", "stop"),
    (GeneratorExit(), "aborted", "GeneratorExit", ""),
    (SystemExit(), "succeeded", None, None),
    (SystemExit(0), "succeeded", None, None),
    (SystemExit(3), "failed", None, "exit code 3"),
    (SystemExit("no disk"), "failed", "SystemExit", "no disk"),
    (SystemExit(143), "aborted", None, "exit code 143 (SIGTERM)"),
]


@pytest.fixture
def recorded() -> tuple[TrackedPipeline, Recorder]:
    client, recorder = record()
    return client.pipeline(Pipeline(name="orders", default_watermark="2020-01-01")), recorder


def ends(recorder: Recorder) -> list[RunEnded]:
    assert all(event.flags == () for event in recorder.events)
    return [event for event in recorder.events if isinstance(event, RunEnded)]


def starts(recorder: Recorder) -> list[RunStarted]:
    return [event for event in recorder.events if isinstance(event, RunStarted)]


def advances(recorder: Recorder) -> list[WatermarkAdvanced]:
    return [event for event in recorder.events if isinstance(event, WatermarkAdvanced)]


def test_a_run_reports_its_start_and_its_end(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    with orders.run(labels={"env": "test"}, attempt=2, backfill=True, nominal_at="2026-11-30T03:00:00+01:00") as run:
        run.add(inserts=2, total_rows=5)
        run.add(inserts=3)
        run.metric("nulls", 0.5)
        run.label(shard=7)
        run.note(files=["a", "b"])

    (started,), (ended,) = starts(recorder), ends(recorder)
    assert [event["event_type"] for event in recorder.raw] == ["pipeline.declared", "run.started", "run.ended"]
    assert started.run_id == ended.run_id == run.id
    assert (started.attempt, started.backfill, started.labels) == (2, True, {"env": "test"})
    assert started.nominal_at == datetime(2026, 11, 30, 2, tzinfo=UTC)
    assert ended.status == "succeeded"
    assert (ended.inserts, ended.updates, ended.deletes, ended.total_rows) == (5, None, None, 5)
    assert ended.metrics == {"nulls": 0.5}
    assert ended.labels == {"shard": "7"}
    assert ended.metadata == {"files": ["a", "b"]}
    assert ended.error is None
    assert ended.started_at == started.occurred_at
    assert ended.duration_ms is not None
    assert started.producer is not None
    assert started.producer.pid == os.getpid()


@pytest.mark.parametrize(("error", "status", "kind", "message"), EXITS)
def test_every_way_out_ends_the_run_and_stays_as_it_was(
    recorded: tuple[TrackedPipeline, Recorder],
    error: BaseException,
    status: str,
    kind: str | None,
    message: str | None,
) -> None:
    orders, recorder = recorded

    with pytest.raises(type(error)) as caught, orders.run():
        raise error

    (ended,) = ends(recorder)
    assert caught.value is error
    assert error.__traceback__ is not None
    assert error.__context__ is None
    assert ended.status == status
    assert (ended.error.type, ended.error.message) == (kind, message) if ended.error else message is None


async def test_an_async_run_reports_the_same(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    async with orders.run() as run:
        await asyncio.sleep(0)
        run.add(deletes=1)

    assert [(end.status, end.deletes) for end in ends(recorder)] == [("succeeded", 1)]


async def test_a_cancelled_task_aborts_its_run_and_is_cancelled(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    began = asyncio.Event()

    async def work() -> None:
        async with orders.run():
            began.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [end.status for end in ends(recorder)] == ["aborted"]


def test_the_duration_does_not_follow_the_wall_clock(
    recorded: tuple[TrackedPipeline, Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    orders, recorder = recorded
    ticks = iter([100.0, 102.5])
    monkeypatch.setattr("watchline.sdk.run.time", type("Clock", (), {"monotonic": staticmethod(lambda: next(ticks))}))

    with orders.run():
        pass

    assert ends(recorder)[0].duration_ms == 2500


def test_an_error_text_keeps_no_secret(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    with pytest.raises(RuntimeError), orders.run():
        raise RuntimeError("no connection to postgres://me:hunter2@db/orders")

    (ended,) = ends(recorder)
    assert ended.error is not None
    assert ended.error.message == "no connection to postgres://me:***@db/orders"


def test_an_error_without_text_still_ends_the_run(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with pytest.raises(Broken), orders.run():
        raise Broken

    assert [end.status for end in ends(recorder)] == ["failed"]


def test_a_run_that_failed_moves_no_watermark(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    def load() -> None:
        with orders.run() as run:
            run.advance("2026-11-30")
            raise ValueError("too late")

    with pytest.raises(ValueError, match="late"):
        load()

    assert advances(recorder) == []
    assert ends(recorder)[0].next_watermark is None


def test_a_run_that_succeeded_moves_it_after_its_end(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    with orders.run() as run:
        run.advance("first")
        run.advance("5", kind="integer", dataset="lines")
        run.advance("2026-11-30", kind="timestamp")

    types = [event["event_type"] for event in recorder.raw][-3:]
    advanced = {event.dataset: event for event in advances(recorder)}
    own, lines = advanced[None], advanced["lines"]
    assert types == ["run.ended", "watermark.advanced", "watermark.advanced"]
    assert ends(recorder)[0].next_watermark == "2026-11-30"
    assert (lines.watermark, lines.kind) == ("5", "integer")
    assert (own.watermark, own.kind, own.run_id) == ("2026-11-30", "timestamp", run.id)


@pytest.mark.parametrize(
    ("value", "text", "kind"),
    [
        (7, "7", "integer"),
        (date(2026, 11, 30), "2026-11-30", "timestamp"),
        (datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC), "2026-11-30T01:02:03+00:00", "timestamp"),
        ("page-9", "page-9", "text"),
    ],
)
def test_a_watermark_may_be_a_python_value(
    recorded: tuple[TrackedPipeline, Recorder], value: object, text: str, kind: str
) -> None:
    orders, recorder = recorded

    with orders.run() as run:
        run.advance(value)

    assert [(event.watermark, event.kind) for event in advances(recorder)] == [(text, kind)]


def test_the_declared_kind_wins_over_the_type_of_the_value() -> None:
    client, recorder = record()

    with client.pipeline(Pipeline(name="p", watermark_kind="text")).run() as run:
        run.advance(7)

    assert [event.kind for event in advances(recorder)] == ["text"]


def test_the_watermark_is_the_default_until_a_run_advances_it(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, _ = recorded

    with orders.run() as first:
        seen = [first.watermark]
        first.advance("2026-11-30")
        seen.append(first.watermark)
    with orders.run() as second:
        seen.append(second.watermark)

    assert seen == ["2020-01-01", "2020-01-01", "2026-11-30"]


def test_a_watermark_given_to_the_run_wins_over_the_log(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded
    recorder.set_watermark("orders", "2026-11-30")

    with orders.run(watermark=date(2026, 1, 1)) as run:
        seen = run.watermark

    assert seen == "2026-01-01"
    assert starts(recorder)[0].watermark == "2026-01-01"


async def test_an_async_job_reads_its_watermark_without_holding_up_the_loop(
    recorded: tuple[TrackedPipeline, Recorder],
) -> None:
    orders, recorder = recorded
    recorder.set_watermark("orders", "2026-11-30")

    async with orders.run() as run:
        assert await run.read_watermark() == "2026-11-30"


def test_a_dry_run_does_not_guess_a_watermark() -> None:
    pipeline = Watchline(outlet=Console()).pipeline(Pipeline(name="p", default_watermark="2020-01-01"))

    with pipeline.run() as run, pytest.raises(WatermarkUnavailable):
        _ = run.watermark


def test_a_dry_run_has_the_watermark_that_it_was_given() -> None:
    pipeline = Watchline(outlet=Console()).pipeline(Pipeline(name="p"))

    with pipeline.run(watermark="2026-11-29") as run:
        assert run.watermark == "2026-11-29"


def test_what_is_switched_off_gives_the_default_watermark_and_reports_nothing() -> None:
    client = Watchline(disabled=True)

    with client.pipeline(Pipeline(name="p", default_watermark="2020-01-01")).run() as run:
        assert run.watermark == "2020-01-01"
        run.add(inserts=1)

    assert client.flush()


def test_an_inactive_pipeline_says_skip_and_reports_no_run() -> None:
    client, recorder = record()

    with client.pipeline(Pipeline(name="p", active=False)).run() as run:
        run.add(inserts=1)
        run.advance("x")
        assert run.skip

    assert [(event["event_type"], event["active"]) for event in recorder.raw] == [("pipeline.declared", False)]


def test_a_child_run_names_its_parent(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    with orders.run() as parent, parent.child(Pipeline(name="lines"), labels={"a": "b"}) as child:
        child.add(inserts=1)

    first, second = starts(recorder)
    assert first.parent_run_id is None
    assert (second.pipeline, second.parent_run_id, second.labels) == ("lines", parent.id, {"a": "b"})
    assert [end.pipeline for end in ends(recorder)] == ["lines", "orders"]


def test_a_run_under_watchline_exec_is_its_child(
    recorded: tuple[TrackedPipeline, Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    orders, recorder = recorded
    parent = uuid4()
    monkeypatch.setenv("WATCHLINE_RUN_ID", str(parent))

    with orders.run():
        pass

    assert starts(recorder)[0].parent_run_id == parent


def test_a_manual_run_can_be_ended_by_its_id_elsewhere(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    run = orders.start()
    orders.end(str(run.id), "failed", "the pod was evicted", inserts=4, watermark="x")

    (ended,) = ends(recorder)
    assert starts(recorder)[0].heartbeat_seconds is None
    assert ended.run_id == run.id
    assert (ended.status, ended.inserts, ended.duration_ms) == ("failed", 4, None)
    assert ended.error is not None
    assert ended.error.message == "the pod was evicted"
    assert advances(recorder) == []


def test_a_manual_run_ends_once(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    run = orders.start()
    orders.end(run, watermark="2026-11-30")
    orders.end(run, "failed")
    run.end("failed")

    assert [end.status for end in ends(recorder)] == ["succeeded"]
    assert ends(recorder)[0].duration_ms is not None
    assert [event.watermark for event in advances(recorder)] == ["2026-11-30"]


def test_threads_add_up(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    with orders.run() as run:
        threads = [threading.Thread(target=lambda: [run.add(inserts=1) for _ in range(500)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert ends(recorder)[0].inserts == 4000


def test_the_current_run_is_known_within_the_block_only(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, _ = recorded

    with orders.run() as outer:
        with orders.run() as inner:
            assert current_run() is inner
        assert current_run() is outer

    assert current_run() is None


WRONG: list[Any] = [
    lambda run: run.add(inserts="many"),
    lambda run: run.add(inserts=-1),
    lambda run: run.add(inserts=1.5),
    lambda run: run.add(inserts=float("nan")),
    lambda run: run.add(rows=3),
    lambda run: run.metric("", 1),
    lambda run: run.metric(None, 1),
    lambda run: run.metric("x", "fast"),
    lambda run: run.metric("x", float("inf")),
    lambda run: run.advance("x" * 9000),
    lambda run: run.advance("x", dataset="\n"),
    lambda run: run.pipeline.run(labls={}),
    lambda run: run.pipeline.end("no id"),
    lambda run: run.pipeline.run(nominal_at="yesterday", labels=5, parent_run_id="x").begin(),
]


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_argument_is_logged_once_and_harms_nothing(
    recorded: tuple[TrackedPipeline, Recorder], call: Any, caplog: pytest.LogCaptureFixture
) -> None:
    orders, recorder = recorded

    with orders.run() as run:
        call(run)
        warnings = [entry for entry in caplog.records if entry.levelno == logging.WARNING]
        call(run)

    assert warnings
    assert len([entry for entry in caplog.records if entry.levelno == logging.WARNING]) == len(warnings)
    assert ends(recorder)[-1].status == "succeeded"
    assert ends(recorder)[-1].inserts is None


def test_a_failing_outlet_does_not_reach_the_job(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Recorder):
        def deliver(self, message: object) -> None:
            raise MemoryError("no room")

    with Watchline(outlet=Broken()).pipeline(Pipeline(name="p")).run() as run:
        run.add(inserts=1)

    assert "the job goes on" in caplog.text


def test_a_heartbeat_tells_the_counts_so_far(recorded: tuple[TrackedPipeline, Recorder]) -> None:
    orders, recorder = recorded

    run = orders.start(heartbeat_seconds=20)
    run.add(inserts=4)
    waits = [run.beat()]
    run.end()
    waits.append(run.beat())

    (beat,) = [event for event in recorder.events if isinstance(event, RunHeartbeat)]
    assert (beat.run_id, beat.inserts) == (run.id, 4)
    assert starts(recorder)[0].heartbeat_seconds == 20
    assert waits == [20, None]


def test_run_ids_are_version_7_and_sort_by_time() -> None:
    ids = [compose_id(unix_ms, 2**74 - 1 - unix_ms) for unix_ms in range(1000)]

    assert ids == sorted(ids)
    assert {(item.version, item.variant) for item in ids} == {(7, "specified in RFC 4122")}
    assert compose_id(0x017F22E279B0, (0xCC3 << 62) | 0x18C4DC0C0C07398F) == UUID(
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
    )
    assert abs((make_id().int >> 80) / 1000 - time.time()) < 60
    assert len({make_id() for _ in range(1000)}) == 1000
