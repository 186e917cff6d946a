"""What the benchmarks of memory and latency count, without a clock."""

from __future__ import annotations

import time

from bench.latency.arrivals import Arrivals
from bench.latency.load import FAILING_EVERY, job_of
from bench.memory import RUNS, Worker, fold_runs, name_of
from watchline.streams.rows import RunsRow, decode_row

DEFAULTS = {"duration_seconds", "inserts", "updates", "deletes", "total_rows", "throughput"}


def test_the_measured_row_holds_six_baselines_and_has_stopped_growing() -> None:
    row, written = fold_runs(7, together=True)

    assert set(decode_row(RunsRow, row).baselines) == DEFAULTS
    assert len(written) == RUNS
    assert len(set(written[-10:])) == 1


def test_start_and_end_apart_write_the_row_twice_a_run() -> None:
    together, apart = fold_runs(7, together=True)[1], fold_runs(7, together=False)[1]

    assert len(apart) == 2 * len(together)


def test_a_measured_worker_holds_all_tables_and_the_deadline_of_every_pipeline() -> None:
    worker = Worker()

    worker.add_rows(40, [fold_runs(number, together=True)[0] for number in range(2)])
    worker.add_declarations(40)
    worker.add_watermarks(40)
    worker.wake_desks()

    keys = {name_of(number).encode() for number in range(40)}
    assert worker.runs.data.keys() == worker.declarations.data.keys() == worker.watermarks.data.keys() == keys
    due = [key for desk in worker.desks if desk.deadlines for key in desk.deadlines.pop_due(2**62)]
    assert sorted(due) == sorted(keys)


def test_what_left_in_the_warm_up_does_not_count_and_nothing_arrives_twice() -> None:
    arrivals: Arrivals[str] = Arrivals()
    arrivals.leave("early", counts=False)
    arrivals.leave("late", counts=True)

    arrivals.arrive(["early", "late"], time.monotonic())
    arrivals.arrive(["late", "unknown"], time.monotonic())

    assert len(arrivals.seconds) == 1
    assert arrivals.waiting == []


def test_every_failing_run_has_a_pipeline_of_its_own_and_the_others_share_theirs() -> None:
    jobs = [job_of(number) for number in range(100 * FAILING_EVERY)]

    failing = [job.pipeline for job in jobs if job.fails]
    assert len(failing) == len(set(failing)) == 100
    assert not {job.pipeline for job in jobs if not job.fails} & set(failing)
