"""Kafka to Postgres: canonical rows, findings, incidents and dead letters, with their offsets in one transaction."""

from watchline.consumers.sink.service import run
from watchline.consumers.sink.settings import SinkSettings

__all__ = ["SinkSettings", "run"]
