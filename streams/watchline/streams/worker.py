"""One worker process of the streams."""

from __future__ import annotations

import asyncio
import logging

import faust
import structlog

from watchline.schemas.errors import Misconfigured, WatchlineError
from watchline.streams.application import build_application
from watchline.streams.settings import StreamsSettings
from watchline.streams.topics import check_topics
from watchline.streams.transport import StreamsApp

log = structlog.get_logger()


def run(settings: StreamsSettings) -> None:
    """Work until SIGTERM or SIGINT; refuses to start on topics that do not fit together.

    Raises the WatchlineError that an agent stopped the worker with, so that it is the last thing that is said.
    """
    problems = asyncio.run(check_topics(settings.kafka, settings.topics, partitions=settings.partitions))
    if problems:
        raise Misconfigured("; ".join(problems), hint="watchline topics create makes what is missing")
    app = build_application(settings)
    _announce_readiness(app, settings)
    worker = faust.Worker(app, loglevel=logging.INFO, override_logging=False, redirect_stdouts=False)
    try:
        worker.execute_from_commandline()
    except SystemExit:
        if isinstance(app.crash_reason, WatchlineError):
            raise app.crash_reason from None
        raise


def _announce_readiness(app: StreamsApp, settings: StreamsSettings) -> None:
    """Touch the ready file once the tables are recovered and the partitions are ours."""

    @app.on_rebalance_complete.connect(weak=False)
    async def announce(*_: object, **__: object) -> None:
        log.info("worker.ready", application=settings.topics.application)
        if settings.ready_file is not None:
            settings.ready_file.touch()
