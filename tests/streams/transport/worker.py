"""One worker process of the tests on a real broker: python worker.py BROKERS PREFIX PARTITIONS FOLDER."""

from __future__ import annotations

import asyncio
import sys

from faust.contrib.asgi import faust_app_running

from streams.transport.counting import count_events  # noqa: TID251 - the folder of these tests
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics
from watchline.streams.transport import make_app


async def work(brokers: str, prefix: str, partitions: int, folder: str) -> None:
    """Count until standard input ends."""
    topics = Topics(prefix)
    app = make_app(
        app_id=topics.application,
        kafka=KafkaConnection(bootstrap_servers=brokers),
        partitions=partitions,
        session_timeout=6.0,
        rebalance_timeout=6.0,
        data_dir=folder,
    )
    count_events(app, topics.runs, partitions=partitions)
    async with faust_app_running(app):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
