"""Declarations: the newest one holds, and a type's defaults fill what it leaves open."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from folds.log import NOON, PIPELINE, identity
from watchline.schemas import Mute, PipelineDeclared
from watchline.streams.declarations import Declared, fold_declaration, read_declaration
from watchline.streams.effects import Effects
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.rows import DeclarationRow, decode_row, encode_row


def declaration(minute: int = 0, **fields: Any) -> PipelineDeclared:
    return PipelineDeclared.model_validate(
        {
            "event_id": identity("declaration", minute),
            "occurred_at": NOON + timedelta(minutes=minute),
            "pipeline": PIPELINE,
            **fields,
        }
    )


def fold(*events: PipelineDeclared) -> tuple[DeclarationRow, Effects]:
    row, effects = DeclarationRow(0), Effects()
    for offset, event in enumerate(events):
        row.offset = offset
        fold_declaration(row, event, epoch=0, effects=effects)
    return decode_row(DeclarationRow, encode_row(row)), effects


@pytest.mark.parametrize("minutes", [(0, 1), (1, 0)], ids=["in order", "reversed"])
def test_the_declaration_made_last_holds_whatever_arrives_last(minutes: tuple[int, int]) -> None:
    row, _ = fold(*(declaration(minute, owner=f"owner-{minute}") for minute in minutes))

    assert read_declaration(row).owner == "owner-1"
    assert read_declaration(row).first_declared_at == to_micros(NOON)


def test_an_outdated_declaration_says_nothing() -> None:
    _, effects = fold(declaration(5), declaration(1))

    assert len(effects.state) == 1


def test_the_defaults_of_the_type_hold_where_the_pipeline_says_nothing() -> None:
    defaults = {"freshness": {"max_age_seconds": 60}, "timeliness": {"max_duration_seconds": 10}}

    row, _ = fold(declaration(type="extraction", type_defaults=defaults, timeliness={"max_duration_seconds": 20}))

    declared = read_declaration(row)
    assert declared.freshness_limit == 60 * SECOND
    assert declared.timeliness_limit == 20 * SECOND


def test_each_limit_of_the_type_holds_unless_the_pipeline_gives_that_one() -> None:
    done, complete = {"cron": "30 7 * * *", "timezone": "Europe/Berlin"}, {"cron": "0 9 * * *", "days": 2}
    defaults = {
        "freshness": {"max_age_seconds": 60, "warn_age_seconds": 30, "complete_by": {"cron": "0 1 * * *"}},
        "timeliness": {"max_duration_seconds": 10, "done_by": {"cron": "0 1 * * *"}},
    }
    own: dict[str, Any] = {
        "freshness": {"max_age_seconds": 90, "complete_by": complete},
        "timeliness": {"done_by": done},
    }

    row, _ = fold(declaration(type="extraction", type_defaults=defaults, **own))

    declared = read_declaration(row)
    assert (declared.freshness_limit, declared.freshness_warning) == (90 * SECOND, None)
    assert (declared.timeliness_limit, declared.complete_days) == (10 * SECOND, 2)
    assert declared.complete_by is not None
    assert declared.done_by is not None
    assert (declared.complete_by.cron, declared.done_by.cron) == ("0 9 * * *", "30 7 * * *")
    assert (declared.complete_by.timezone, declared.done_by.timezone) == ("UTC", "Europe/Berlin")


def test_a_mute_of_either_level_mutes() -> None:
    defaults = {"freshness": {"max_age_seconds": 60}, "mutes": [{"check": "anomaly"}]}
    row, _ = fold(declaration(mutes=[{"check": "failure"}], type_defaults=defaults))

    declared = read_declaration(row)
    assert not declared.watches("failure", 0)
    assert not declared.watches("anomaly", 0)
    assert declared.watches("freshness", 0)


def test_the_end_of_the_longest_mute_is_when_a_check_counts_again() -> None:
    mutes = (Mute(check="all", until=NOON), Mute(check="freshness", until=NOON + timedelta(hours=1)))

    declared = Declared(mutes=mutes)

    assert declared.unmuted_at("freshness", to_micros(NOON) - 1) == to_micros(NOON + timedelta(hours=1))
    assert Declared(mutes=(Mute(check="all"),)).unmuted_at("freshness", 0) is None


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "America", "", "x" * 5000, "Europe/Berlin\0"])
def test_a_zone_that_nobody_knows_counts_as_utc(name: str) -> None:
    assert Declared(timezone=name).zone is None


def test_a_known_zone_is_used() -> None:
    zone = Declared(timezone="Europe/Berlin").zone

    assert zone is not None
    assert zone.key == "Europe/Berlin"
