"""Judging the metrics of a succeeded run against what is normal for its pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid5

from watchline.schemas import flags
from watchline.schemas.records import AnomalyRecord, IncidentFact, revision_of
from watchline.streams.detection import Verdict, judge, rule_for
from watchline.streams.instants import SECOND, to_datetime
from watchline.streams.rows import Run, RunsRow
from watchline.streams.runs.answers import remember_flagged
from watchline.streams.runs.baselines import Baselines
from watchline.streams.runs.hysteresis import recover_incident
from watchline.streams.runs.incidents import Scene, find_incident, report_trouble
from watchline.streams.runs.merge import begun_at, duration_of, ends_before_start, throughput_of

CLEAN_RUNS_TO_RESOLVE = 3  # flags at most this many runs apart are one incident
UNITS: dict[str, Literal["rows", "seconds", "rows_per_second"]] = {
    "duration_seconds": "seconds", "inserts": "rows", "updates": "rows", "deletes": "rows", "total_rows": "rows",
    "throughput": "rows_per_second",
}  # fmt: skip


def judge_run(scene: Scene, row: RunsRow, run: Run, metrics: Mapping[str, float], baselines: Baselines) -> None:
    """Score every numeric metric of a succeeded run, once; flag, learn, and open or resolve the incident.

    A backfill teaches nothing and is not judged; a run whose times can't be trusted is judged and teaches nothing.
    """
    begun = begun_at(run)
    if run.end is None or run.end.status != "succeeded" or run.judged or run.backfill or begun is None:
        return
    run.judged = True
    local = local_seconds(scene, begun)
    learn = flags.CLOCK_SKEW not in run.flags and not ends_before_start(run)
    flagged: dict[str, Verdict] = {}
    adopted = False
    for metric, value in measures_of(run, metrics):
        rule = rule_for(metric, scene.declared.rules)
        baseline = baselines.get(metric) if rule else None
        if rule is None or baseline is None:
            continue
        verdict = judge(baseline, rule, local, value, learn=learn)
        if verdict.flagged:
            flagged[metric] = verdict
            adopted = adopted or verdict.shifted
            scene.effects.anomalies.append(_record_of(scene, row, run, metric, verdict))
    run.anomalous = bool(flagged)
    remember_flagged(row, run.run_id, flagged)
    _follow_incident(scene, row, run, flagged, adopted)


def measures_of(run: Run, metrics: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Every numeric metric of a run: duration, counts, throughput, then the custom ones by name."""
    end, duration = run.end, duration_of(run)
    if end is None:
        return
    if duration is not None:
        yield "duration_seconds", duration / SECOND
    for name in ("inserts", "updates", "deletes", "total_rows"):
        count = getattr(end, name)
        if count is not None:
            yield name, float(count)
    throughput = throughput_of(run)
    if throughput is not None:
        yield "throughput", throughput
    yield from sorted(metrics.items())


def local_seconds(scene: Scene, micros: int) -> float:
    """Seconds since 1970 on the wall clock of the pipeline's zone, so that a weekday and an hour are local ones."""
    zone = scene.declared.zone
    if zone is None:
        return micros / SECOND
    offset = datetime.fromtimestamp(micros / SECOND, zone).utcoffset()
    return micros / SECOND + (offset.total_seconds() if offset else 0.0)


def _follow_incident(scene: Scene, row: RunsRow, run: Run, flagged: dict[str, Verdict], adopted: bool) -> None:
    assert run.end is not None
    at = run.end.ended_at
    if not flagged:
        _count_clean_run(scene, row, at)
    elif scene.declared.watches("anomaly", at):
        facts = [_fact_of(metric, verdict) for metric, verdict in flagged.items()]
        incident = report_trouble(
            scene, row, "anomaly", at=at, severity="warn", title=title_of(flagged, adopted),
            facts=facts, run_id=run.run_id,
        )  # fmt: skip
        incident.adopted = incident.adopted or adopted


def _count_clean_run(scene: Scene, row: RunsRow, at: int) -> None:
    incident = find_incident(row, "anomaly")
    if incident is None:
        return
    incident.clean_runs += 1
    if incident.clean_runs >= CLEAN_RUNS_TO_RESOLVE:
        recover_incident(scene, row, incident, at=at, reason="adopted" if incident.adopted else "recovered")


def title_of(flagged: Mapping[str, Verdict], adopted: bool) -> str:
    """What is wrong in a few words: "inserts below, throughput above the expected range"."""
    sides = ", ".join(f"{metric} {'above' if v.score > 0 else 'below'}" for metric, v in list(flagged.items())[:4])
    more = f" and {len(flagged) - 4} more" if len(flagged) > 4 else ""
    return f"{sides}{more} the expected range" + ("; the new level is adopted as normal" if adopted else "")


def _fact_of(metric: str, verdict: Verdict) -> IncidentFact:
    return IncidentFact(
        name=metric,
        value=verdict.value,
        expected=verdict.expected,
        lower=verdict.lower,
        upper=verdict.upper,
        score=verdict.score,
        limit=verdict.limit,
        baseline_runs=verdict.baseline_runs,
        unit=UNITS.get(metric, "number"),
        note="adopted as the new normal" if verdict.shifted else None,
    )


def _record_of(scene: Scene, row: RunsRow, run: Run, metric: str, verdict: Verdict) -> AnomalyRecord:
    assert run.end is not None
    assert verdict.reason is not None
    run_id = UUID(bytes=run.run_id)
    return AnomalyRecord(
        pipeline=scene.pipeline,
        revision=revision_of(scene.epoch, row.offset),
        anomaly_id=uuid5(run_id, metric),
        run_id=run_id,
        metric=metric,
        value=verdict.value,
        expected=verdict.expected,
        lower=verdict.lower,
        upper=verdict.upper,
        score=verdict.score,
        limit=verdict.limit,
        baseline_runs=verdict.baseline_runs,
        seasons=verdict.seasons,
        reason=verdict.reason,
        rule="adaptive" if verdict.reason != "static" else "static",
        run_started_at=to_datetime(begun_at(run) or run.end.ended_at),
        run_ended_at=to_datetime(run.end.ended_at),
        muted=not scene.declared.watches("anomaly", run.end.ended_at),
    )
