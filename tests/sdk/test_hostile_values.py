"""Objects of a job's own whose text, number or truth raises: they cost themselves, never an event."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from watchline.sdk import AnomalyRule, Mute, Pipeline, current_run
from watchline.sdk.testing import Recorder, record


class Hostile:
    """Raises whatever is asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __str__ = __repr__

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equal")

    __hash__ = object.__hash__


class HostileInt(int):
    def __int__(self) -> int:
        raise RuntimeError("no int")


class HostileType(type):
    @property
    def __module__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no module")


def types_of(recorder: Recorder) -> list[str]:
    return [event["event_type"] for event in recorder.raw]


OPTIONS = ["run_id", "parent_run_id", "attempt", "watermark", "next_watermark", "nominal_at", "backfill", "labels"]


@pytest.mark.parametrize("option", [*OPTIONS, "heartbeat_seconds", "metadata"])
@pytest.mark.parametrize("value", [Hostile(), {"a": Hostile(), "b": HostileInt(3)}], ids=["alone", "in a mapping"])
def test_a_hostile_option_costs_neither_start_nor_end(option: str, value: Any) -> None:
    client, recorder = record()

    with client.pipeline(Pipeline(name="p")).run(**{option: value}):
        pass

    assert types_of(recorder) == ["pipeline.declared", "run.started", "run.ended"]
    assert [event.event_type for event in recorder.events] == types_of(recorder)


def test_hostile_values_cost_only_themselves() -> None:
    client, recorder = record()

    with client.pipeline(Pipeline(name="p")).run() as run:
        for value in (Hostile(), HostileInt(3)):
            run.metric("bad", value)
            run.add(inserts=value)
            run.label(a=value)
            run.note(a=value)
            run.advance(value, kind=value, dataset=value)  # type: ignore[arg-type]
        run.metric("good", 1)
        run.add(updates=2)

    end = recorder.raw[-1]
    assert (end["event_type"], end["metrics"], end["updates"]) == ("run.ended", {"good": 1.0}, 2)


def test_an_exception_of_a_hostile_type_comes_through_and_ends_the_run() -> None:
    client, recorder = record()
    error = HostileType("Strange", (Exception,), {})("lost")

    with pytest.raises(Exception) as raised, client.pipeline(Pipeline(name="p")).run():  # noqa: PT011
        raise error

    assert raised.value is error
    assert (recorder.raw[-1]["event_type"], recorder.raw[-1]["status"]) == ("run.ended", "failed")


DECLARED = ["type", "owner", "tags", "metadata", "freshness", "timeliness", "schedule", "mutes", "active"]


@pytest.mark.parametrize("field", [*DECLARED, "anomaly_rules", "sources", "default_watermark", "watermark_kind"])
@pytest.mark.parametrize("listed", [False, True])
def test_a_hostile_field_of_a_pipeline_does_not_hide_it(field: str, listed: bool) -> None:
    client, recorder = record()
    value: Any = [Hostile()] if listed else Hostile()

    with client.pipeline(Pipeline(name="p", **{field: value})).run():
        pass

    assert types_of(recorder) == ["pipeline.declared", "run.started", "run.ended"]


def test_a_hostile_part_of_a_list_costs_only_itself() -> None:
    client, recorder = record()
    mutes: Any = [Mute(Hostile()), Mute("failure")]  # type: ignore[arg-type]
    rules: Any = [AnomalyRule("a", min_runs=Hostile()), AnomalyRule("b", sensitivity="high")]  # type: ignore[arg-type]

    client.pipeline(Pipeline(name="p", mutes=mutes, anomaly_rules=rules)).declare()

    declared = recorder.raw[0]
    assert [mute["check"] for mute in declared["mutes"]] == ["failure"]
    assert [rule["metric"] for rule in declared["anomaly_rules"]] == ["b"]


def test_a_warning_about_a_hostile_value_prints_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", True)
    handler = logging.StreamHandler()
    logging.getLogger("watchline.sdk").addHandler(handler)
    client, _ = record()

    with client.pipeline(Pipeline(name="p")).run() as run:
        run.metric("bad", Hostile())
    logging.getLogger("watchline.sdk").removeHandler(handler)

    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    assert "bad=<Hostile without text: RuntimeError> is no finite number" in shown


def test_an_id_that_is_none_is_replaced() -> None:
    client, recorder = record()

    with client.pipeline(Pipeline(name="p")).run(run_id="my run") as run:
        pass

    assert [event["run_id"] for event in recorder.raw[1:]] == [str(run.id)] * 2
    assert len(recorder.events) == 3


def test_a_run_entered_within_itself_leaves_what_was_current_before() -> None:
    client, _ = record()
    outer, inner = client.pipeline(Pipeline(name="outer")).run(), client.pipeline(Pipeline(name="p")).run()

    with outer:
        with inner, inner:
            assert current_run() is inner
        assert current_run() is outer
    assert current_run() is None
