"""The Faust application: three topics, three tables, three agents, and the pulses that drive its clocks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import structlog
from faust.types import EventT, StreamT, TopicT

from watchline.schemas.failpoints import failpoint
from watchline.streams.folders import DeclarationsFolder, RunsFolder, WatermarksFolder, keys_of
from watchline.streams.precedence import Precedence
from watchline.streams.pulses import encode_pulse
from watchline.streams.rows import offset_of
from watchline.streams.runs.desk import Rhythm, Tables
from watchline.streams.settings import StreamsSettings
from watchline.streams.shell import Shell
from watchline.streams.transport import BatchStream, StateTable, StreamsApp, make_app, send_all

log = structlog.get_logger()


def build_application(settings: StreamsSettings) -> StreamsApp:
    """Everything wired; nothing is opened until the application starts."""
    topics = settings.topics
    app = _bare_application(settings)
    declarations, runs, watermarks = (_table(app, settings, name) for name in ("declarations", "runs", "watermarks"))
    runs_folder, declarations_folder, watermarks_folder = _folders_of(runs, declarations, watermarks, settings)
    declared = Precedence()

    @app.agent(_source(app, topics.pipelines), name=topics.pipelines)
    async def absorb_declarations(stream: StreamT[bytes]) -> None:
        shell = Shell(app, settings, topics.pipelines, declarations, declarations_folder)
        declared.watch(cast(Any, stream.channel).queue)
        async for events in _batches(stream, settings.batch_size):
            with declared.working():
                await shell.absorb(events)

    @app.agent(_source(app, topics.runs), name=topics.runs)
    async def absorb_runs(stream: StreamT[bytes]) -> None:
        shell = Shell(app, settings, topics.runs, runs, runs_folder)
        async for events in _batches(stream, settings.batch_size):
            await declared.wait()
            await shell.absorb(events)

    @app.agent(_source(app, topics.watermarks), name=topics.watermarks)
    async def absorb_watermarks(stream: StreamT[bytes]) -> None:
        shell = Shell(app, settings, topics.watermarks, watermarks, watermarks_folder)
        async for events in _batches(stream, settings.batch_size):
            await shell.absorb(events)

    _forget_what_moved(app, runs, declarations, runs_folder, declarations_folder)
    if settings.pulses:
        _pulse(app, settings, runs)
    return app


def _bare_application(settings: StreamsSettings) -> StreamsApp:
    return make_app(
        app_id=settings.topics.application,
        kafka=settings.kafka,
        partitions=settings.partitions,
        fetch_wait_ms=settings.fetch_wait_ms,
        session_timeout=settings.session_timeout_seconds,
        rebalance_timeout=settings.rebalance_timeout_seconds,
        commit_interval=settings.commit_interval_seconds,
        replication_factor=settings.replication_factor,
    )


def _folders_of(
    runs: StateTable, declarations: StateTable, watermarks: StateTable, settings: StreamsSettings
) -> tuple[RunsFolder, DeclarationsFolder, WatermarksFolder]:
    """They need each other: runs are judged by declarations and watermarks, and these wake the deadlines of runs."""
    runs_folder = RunsFolder(
        Tables(
            row=runs.data.get,
            declared=lambda key: declarations_folder.declared(key),  # noqa: PLW0108 - it is made below
            keys=keys_of(runs, declarations),
            watermark=lambda key: watermarks_folder.complete_until(key),  # noqa: PLW0108 - likewise
        ),
        Rhythm(settings.pulse_seconds, settings.settle_seconds, settings.log_epoch),
    )
    declarations_folder = DeclarationsFolder(declarations, epoch=settings.log_epoch, wake=runs_folder.wake)
    watermarks_folder = WatermarksFolder(watermarks, epoch=settings.log_epoch, wake=runs_folder.wake)
    return runs_folder, declarations_folder, watermarks_folder


def _table(app: StreamsApp, settings: StreamsSettings, name: str) -> StateTable:
    table = cast(StateTable, app.Table(name, key_type=bytes, value_type=bytes, partitions=settings.partitions))
    table.age_of = offset_of
    return table


def _source(app: StreamsApp, topic: str) -> TopicT:
    return app.topic(topic, key_type=bytes, value_type=bytes, value_serializer="raw")


def _batches(stream: StreamT[bytes], size: int) -> AsyncIterator[Sequence[EventT[Any]]]:
    return cast(BatchStream, stream).take_events(size)


def _forget_what_moved(
    app: StreamsApp,
    runs: StateTable,
    declarations: StateTable,
    runs_folder: RunsFolder,
    declarations_folder: DeclarationsFolder,
) -> None:
    @app.on_rebalance_complete.connect(weak=False)
    async def forget(*_: object, **__: object) -> None:
        runs_folder.keep(runs.owned())
        declarations_folder.keep(frozenset(key for _, key, _ in declarations.rows()))


def _pulse(app: StreamsApp, settings: StreamsSettings, runs: StateTable) -> None:
    """Write the time into every partition that is ours, so that idle partitions have a clock too."""

    @app.task  # type: ignore[untyped-decorator]  # Faust leaves it untyped
    async def pulse() -> None:
        while not app.should_stop:
            recovered = app.tables.recovery.completed.is_set()  # type: ignore[attr-defined]  # not in TableManagerT
            owned = runs.owned() if recovered else frozenset()
            record = encode_pulse(time.time_ns() // 1000)
            try:
                failpoint("F9")  # what is due stays due
                await asyncio.gather(
                    *(send_all(app, settings.topics.runs, [(None, record, None)], number) for number in owned)
                )
            except Exception:  # a missed pulse only delays verdicts, and the gap rule covers it
                log.exception("pulse.failed")
            await app.sleep(settings.pulse_seconds)
