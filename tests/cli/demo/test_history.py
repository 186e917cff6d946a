from collections import Counter
from datetime import UTC, datetime

import pytest

from watchline.cli.demo.history import CiRun, parse_history, read_history
from watchline.cli.demo.translation import declarations, events
from watchline.schemas import decode, encode
from watchline.schemas.events import RunEnded, RunStarted, WatermarkAdvanced

HEADER = "project,stage,branch,build_no,started_at,duration_s,result,test_time_s,passed,failed,skipped,pass_classes"


@pytest.fixture(scope="module")
def history() -> list[CiRun]:
    return read_history()


def one_run(result: str) -> CiRun:
    return next(iter(parse_history([HEADER, f"kafka,JDK_8,PR-1,7,1617292180,60,{result},1.5,90,10,3,12"])))


def test_the_packaged_history_is_complete(history: list[CiRun]) -> None:
    assert len(history) == 28_191
    assert len({run.pipeline for run in history}) == 45
    assert len({run.run_id for run in history}) == 28_191


def test_every_pipeline_is_replayed_in_the_order_of_its_starts(history: list[CiRun]) -> None:
    newest: dict[str, datetime] = {}

    for run in history:
        assert run.started_at >= newest.get(run.pipeline, run.started_at)
        newest[run.pipeline] = run.started_at


def test_a_limit_keeps_the_oldest_runs(history: list[CiRun]) -> None:
    kept = read_history(100)

    newest = max(run.started_at for run in kept)
    assert len(kept) == 100
    assert all(run.started_at >= newest for run in history if run not in kept)


def test_every_event_is_decoded_as_it_was_sent_with_nothing_repaired(history: list[CiRun]) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    for event in [*declarations(history), *(event for run in history[::97] for event in events(run))]:
        assert decode(encode(event), now=now) == event


def test_ids_do_not_change_between_replays() -> None:
    assert [event.event_id for event in events(one_run("SUCCESS"))] == [
        event.event_id for event in events(one_run("SUCCESS"))
    ]


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("SUCCESS", "succeeded"),
        ("UNSTABLE", "succeeded"),
        ("FAILURE", "failed"),
        ("ABORTED", "aborted"),
        ("NOT_BUILT", "aborted"),
        ("SOMETHING_NEW", "unknown"),
    ],
)
def test_a_jenkins_result_becomes_a_status(result: str, status: str) -> None:
    assert one_run(result).status == status


def test_an_unstable_build_succeeds_with_its_failed_tests_as_a_metric() -> None:
    started, ended, advanced = events(one_run("UNSTABLE"))

    assert isinstance(started, RunStarted)
    assert isinstance(ended, RunEnded)
    assert isinstance(advanced, WatermarkAdvanced)
    assert ended.total_rows == 90
    assert ended.metrics["failed_tests"] == 10
    assert ended.error is None
    assert advanced.watermark == "2021-04-01T15:49:40Z"


def test_a_failed_build_says_why_and_moves_no_watermark() -> None:
    kinds = Counter(event.event_type for event in events(one_run("FAILURE")))
    ended = events(one_run("FAILURE"))[1]

    assert kinds == {"run.started": 1, "run.ended": 1}
    assert isinstance(ended, RunEnded)
    assert ended.error is not None
    assert ended.error.message == "Jenkins says FAILURE; 10 of 100 tests failed"
    assert ended.next_watermark is None
