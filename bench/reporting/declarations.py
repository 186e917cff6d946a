"""What the pipelines declare: most are scheduled, half have a limit of freshness, and all read and write datasets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from bench.reporting.size import Size, name_of
from watchline.schemas.declaration import Dataset, Freshness, Schedule, Timeliness, TypeDefaults
from watchline.schemas.events import PipelineDeclared
from watchline.schemas.records import PipelineRecord

TYPES, OWNERS, LAYERS = 20, 60, 10
DATASETS_PER_PIPELINE = 1.6
SYSTEMS = (("postgres", "database"), ("s3", "lake"), ("snowflake", "warehouse"), ("kafka", "stream"))
CRONS = ("0 * * * *", "*/15 * * * *", "30 4 * * *", "0 6 * * 1-5")
KINDS = ("timestamp", "timestamp", "integer", "text")
BACKWARDS = 500  # one pipeline in so many feeds the first layer again: a cycle


def declared(size: Size) -> Iterator[PipelineRecord]:
    """The first declaration of each pipeline, then the change that every second one made later."""
    chance = Random(size.seed)
    first = [declaration_of(number, size, chance) for number in range(size.pipelines)]
    for number, declaration in enumerate(first):
        yield record_of(declaration, 2 * number + 1)
    for number, declaration in enumerate(first[::2]):
        change = {
            "event_id": UUID(int=chance.getrandbits(128)),
            "occurred_at": size.since + chance.random() * (size.until - size.since),
            "tags": (*declaration.tags, "reviewed"),
            "timeliness": Timeliness(max_duration_seconds=7200),
        }
        yield record_of(declaration.model_copy(update=change), 4 * number + 2)


def record_of(declaration: PipelineDeclared, revision: int) -> PipelineRecord:
    return PipelineRecord(pipeline=declaration.pipeline, revision=revision, declaration=declaration)


def declaration_of(number: int, size: Size, chance: Random) -> PipelineDeclared:
    """What pipeline `number` is; one of each type brings the type's defaults."""
    layer = number % (LAYERS - 1)
    target_layer = 0 if number % BACKWARDS == BACKWARDS - 1 else layer + 1
    return PipelineDeclared(
        event_id=UUID(int=chance.getrandbits(128)),
        occurred_at=first_declared(number, size),
        pipeline=name_of(number),
        type=f"type_{number % TYPES:02}",
        type_defaults=TypeDefaults(timeliness=Timeliness(max_duration_seconds=10_800)) if number < TYPES else None,
        owner=f"team-{number % OWNERS:02}",
        tags=("nightly", f"cost-{number % 7}"),
        metadata={"repository": "warehouse", "tier": number % 3},
        freshness=Freshness(max_age_seconds=172_800, warn_age_seconds=90_000) if number % 2 == 0 else None,
        timeliness=Timeliness(max_duration_seconds=3600),
        schedule=Schedule(cron=CRONS[number % len(CRONS)], timezone="Europe/Berlin") if number % 5 < 4 else None,
        sources=tuple(dataset_of(layer, size, chance) for _ in range(chance.randint(1, 3))),
        targets=tuple(dataset_of(target_layer, size, chance) for _ in range(chance.randint(1, 2))),
        watermark_kind=KINDS[number % len(KINDS)],
    )


def first_declared(number: int, size: Size) -> datetime:
    """Nine in ten were there from the beginning; the others came in the first hundred days."""
    return size.since + (timedelta(days=number % 100) if number % 10 == 9 else timedelta(seconds=number))


def dataset_of(layer: int, size: Size, chance: Random) -> Dataset:
    """One of the datasets of a layer."""
    place = chance.randrange(max(1, int(size.pipelines * DATASETS_PER_PIPELINE / LAYERS)))
    kind, group = SYSTEMS[layer % len(SYSTEMS)]
    return Dataset(name=f"layer_{layer}.table_{place:05}", type=kind, group=group)
