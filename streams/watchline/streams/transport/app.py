"""The Faust application with every proven setting."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import faust
from faust.types.auth import CredentialsT
from yarl import URL

from watchline.schemas.connection import KafkaConnection
from watchline.streams.transport.driver import SCHEME, register
from watchline.streams.transport.recovery import SafeTableManager
from watchline.streams.transport.repeats import leave_out_repeats
from watchline.streams.transport.sensor import NullMonitor
from watchline.streams.transport.stream import BatchStream
from watchline.streams.transport.table import StateTable

BATCH_BYTES = 512 * 1024
REQUEST_BYTES = 5 * 1024 * 1024  # a dead letter of 4 MiB and its envelope


# What was proven together, whoever makes the application.
PROVEN: dict[str, Any] = {
    "store": "memory://",
    "Stream": BatchStream,
    "Table": StateTable,
    "TableManager": SafeTableManager,
    "key_serializer": "raw",
    "value_serializer": "raw",
    "processing_guarantee": "at_least_once",
    "consumer_auto_offset_reset": "earliest",
    "consumer_max_fetch_size": 1024 * 1024,
    "table_standby_replicas": 0,
    "recovery_consistency_check": False,  # an end offset reported too low must not stop a worker
    "broker_max_poll_records": 5000,
    "stream_buffer_maxsize": 16_384,
    "stream_wait_empty": True,
    "producer_acks": -1,
    "producer_linger": 0.005,
    "producer_max_batch_size": BATCH_BYTES,
    "producer_max_request_size": REQUEST_BYTES,
    "producer_request_timeout": 60.0,
    "web_enabled": False,
    "web_tables_enabled": False,
    "web_router_enabled": False,
    "web_bind": "127.0.0.1",
    "worker_redirect_stdouts": False,
}


class StreamsApp(faust.App):
    """A Faust application that knows how long a broker may hold back the answer to a fetch."""

    fetch_wait_ms: int = 20


def make_app(
    *,
    app_id: str,
    kafka: KafkaConnection,
    partitions: int,
    fetch_wait_ms: int = 20,
    session_timeout: float = 30.0,
    rebalance_timeout: float = 60.0,
    commit_interval: float = 1.0,
    replication_factor: int = 1,
    data_dir: Path | str | None = None,
) -> StreamsApp:
    """Build the application; nothing is opened until it starts.

    Declare topics with `key_type=bytes, value_type=bytes, value_serializer="raw"` and tables with
    `key_type=bytes, value_type=bytes`: anything else takes Faust's slow path. `session_timeout` (s) is how
    long the partitions of a killed worker stay dark. The embedded broker wants both time-outs at 6. Run it
    with `faust.Worker(app)` in the main thread or with `faust.contrib.asgi.faust_app_running(app)` inside a loop.
    """
    register()
    calm_loggers()
    app = StreamsApp(
        app_id,
        broker=[URL(f"{SCHEME}://{address.strip()}") for address in kafka.bootstrap_servers.split(",")],
        broker_credentials=credentials(kafka),
        topic_partitions=partitions,
        topic_replication_factor=replication_factor,
        broker_commit_interval=commit_interval,
        broker_session_timeout=session_timeout,
        broker_rebalance_timeout=rebalance_timeout,
        broker_heartbeat_interval=session_timeout / 10,
        datadir=Path(data_dir) if data_dir is not None else Path(tempfile.gettempdir()) / f"{app_id}-faust",
        **PROVEN,
    )
    app.fetch_wait_ms = fetch_wait_ms
    app.monitor = NullMonitor()
    return app


def credentials(kafka: KafkaConnection) -> CredentialsT | None:
    """Faust's form of the connection's security settings; None for plain text."""
    context = kafka.ssl_context() if kafka.security_protocol.endswith("SSL") else None
    if kafka.security_protocol.startswith("SASL"):
        password = kafka.sasl_password.get_secret_value() if kafka.sasl_password else None
        return faust.SASLCredentials(
            username=kafka.sasl_username,
            password=password,
            mechanism=kafka.sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context else None


def calm_loggers() -> None:
    """Keep the per-message debug calls of these libraries cheap.

    Below level INFO `faust.Worker` sets the root logger to DEBUG, and every message builds log records that
    nobody sees (19 % more CPU). A level that somebody set stays. While Kafka is away, what aiokafka repeats is left
    out (see `Repeats`).
    """
    for name in ("aiokafka", "faust", "mode"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)
    leave_out_repeats("aiokafka")
