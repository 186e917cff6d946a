"""What is left of a run, and what a plain fold of its log says there must be: a partition at a time."""

from __future__ import annotations

from collections.abc import Mapping

from aiokafka import TopicPartition

from faults.chaos.ground import Ground
from faults.chaos.log import PARTITIONS, read
from faults.invariants.plain import PlainFold
from watchline.streams.runs.desk import Rhythm

RHYTHM = Rhythm(pulse=1, settle=0, epoch=0)  # as in `ground.SETTINGS`


async def fold_partition(ground: Ground, number: int, read_to: Mapping[TopicPartition, int]) -> PlainFold:
    """The plain fold of one partition of the sources, up to where the workers had read it."""
    topics = ground.topics
    fold = PlainFold(topics, RHYTHM, partitions=PARTITIONS)
    for topic in (topics.pipelines, topics.runs, topics.watermarks):
        place = TopicPartition(topic, number)
        async for records in read(ground.address, place, read_to.get(place, 0)):
            fold.take(place, records)
    return fold
