"""The engines that are compared: from what a tutorial teaches to the whole product."""

from __future__ import annotations

import asyncio
import importlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import faust
import orjson
from faust.types import StreamT

from watchline.schemas import RunEnded, RunStarted
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics
from watchline.streams.declarations import UNDECLARED
from watchline.streams.intake import Homes, sort_out
from watchline.streams.publishing import encode_run
from watchline.streams.runs.desk import BatchFold, Desk, Rhythm, Tables
from watchline.streams.transport import BatchStream, StateTable, make_app

PARTITIONS = 8
PRODUCT = "bench.streams.engines:product_application"


@dataclass(frozen=True, slots=True)
class Engine:
    """An application and how many source events it has done so far."""

    app: faust.App
    done: Callable[[], int]


def stock_app(kafka: KafkaConnection, topics: Topics) -> faust.App:
    """Faust as it comes; only the time-outs are those of the other engines."""
    return faust.App(
        topics.application,
        broker=f"kafka://{kafka.bootstrap_servers}",
        topic_partitions=PARTITIONS,
        table_standby_replicas=0,
        broker_session_timeout=6.0,
        broker_heartbeat_interval=1.0,
        broker_rebalance_timeout=6.0,
        web_enabled=False,
        datadir=tempfile.mkdtemp(),
    )


def naive(kafka: KafkaConnection, topics: Topics) -> Engine:
    """What somebody writes who has read Faust's tutorial: a small fold, one `table[key] = value` per event."""
    app = stock_app(kafka, topics)
    rows = app.Table("runs", partitions=PARTITIONS)
    done = 0

    @app.agent(app.topic(topics.runs, key_type=str, key_serializer="raw"))
    async def count(stream: Any) -> None:
        nonlocal done
        async for key, event in stream.items():
            row = rows.get(key) or {"runs": 0, "rows": 0}
            rows[key] = {"runs": row["runs"] + 1, "rows": row["rows"] + event["total_rows"]}
            done += 1

    return Engine(app, lambda: done)


def naive_product(kafka: KafkaConnection, topics: Topics) -> Engine:
    """The product's own decoder and fold in that naive agent: one row and one record per event."""
    app = stock_app(kafka, topics)
    rows = app.Table("runs", key_type=bytes, value_type=bytes, partitions=PARTITIONS)
    state = app.topic(topics.state, key_type=bytes, value_type=bytes, value_serializer="raw")
    source = app.topic(topics.runs, key_type=bytes, value_type=bytes, value_serializer="raw")
    tables = Tables(row=rows.get, declared=lambda _: UNDECLARED, keys=lambda _: ())
    homes, rhythm, done = Homes(PARTITIONS), Rhythm(pulse=5, settle=30, epoch=0), 0

    @app.agent(source)
    async def judge(stream: StreamT[bytes]) -> None:
        nonlocal done
        async for event in stream.events():
            now = datetime.now(UTC)
            intake = sort_out([event.message], homes=homes, expects=(RunStarted, RunEnded), now=now, epoch=0)
            for partition, taken in intake.taken.items():
                batch = BatchFold(Desk(partition), tables, rhythm)
                for key, row in batch.take(taken, now=int(now.timestamp() * 1e6)).items():
                    rows[key] = row
                for fields in batch.effects.runs:
                    await state.send(key=fields["pipeline"].encode(), value=encode_run(fields))
            done += 1

    return Engine(app, lambda: done)


def transport(kafka: KafkaConnection, topics: Topics) -> Engine:
    """The same fold and the same row, by our transport."""
    app = make_app(
        app_id=topics.application,
        kafka=kafka,
        partitions=PARTITIONS,
        session_timeout=6.0,
        rebalance_timeout=6.0,
        data_dir=tempfile.mkdtemp(),
    )
    rows = cast(StateTable, app.Table("runs", key_type=bytes, value_type=bytes, partitions=PARTITIONS))
    source = app.topic(topics.runs, key_type=bytes, value_type=bytes, value_serializer="raw")
    done = 0

    @app.agent(source)
    async def count(stream: StreamT[bytes]) -> None:
        nonlocal done
        async for events in cast(BatchStream, stream).take_events(1000):
            changed: dict[int, dict[bytes, dict[str, int]]] = {}
            for event in events:
                mine = changed.setdefault(event.message.partition, {})
                key = cast(bytes, event.key)
                raw = rows.data.get(key)
                row = mine.get(key) or (orjson.loads(raw) if raw else {"runs": 0, "rows": 0})
                total = orjson.loads(event.value)["total_rows"]
                mine[key] = {"runs": row["runs"] + 1, "rows": row["rows"] + total}
            encoded: dict[int, dict[bytes, bytes | None]] = {
                partition: {key: orjson.dumps(row) for key, row in mine.items()} for partition, mine in changed.items()
            }
            await asyncio.gather(*await rows.put_many(encoded))
            done += len(events)

    return Engine(app, lambda: done)


def product(kafka: KafkaConnection, topics: Topics, factory: str) -> Engine:
    """Whatever `factory` builds from its environment; what it has done is what its consumer could commit."""
    os.environ |= {
        "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "WATCHLINE_TOPIC_PREFIX": topics.prefix,
        "WATCHLINE_PARTITIONS": str(PARTITIONS),
        "WATCHLINE_SESSION_TIMEOUT_SECONDS": "6",
        "WATCHLINE_REBALANCE_TIMEOUT_SECONDS": "6",
    }
    module, name = factory.split(":")
    app: Any = getattr(importlib.import_module(module), name)()

    def done() -> int:
        return sum(offset for tp, offset in app.consumer.finished.items() if tp.topic == topics.runs)

    return Engine(app, done)


def product_application() -> faust.App:
    """The application that `watchline streams` runs."""
    settings = importlib.import_module("watchline.streams.settings")
    application = importlib.import_module("watchline.streams.application")
    app: faust.App = application.build_application(settings.StreamsSettings())
    return app
