"""The default detector: score a run against what is normal, then learn from it.

In words: the value is taken to a scale on which noise is even (scale.py); its residual from the level and
the calendar offsets (season.py) is divided by a one-sided spread; the quotient becomes a normal z (score.py).
A flagged run is learnt like any other, but clipped (learning.py): leaving it out would narrow what is normal
with every flag. A level that persists is adopted, once (shift.py).
"""

from __future__ import annotations

from math import isfinite

from watchline.streams.detection import learning, season, shift, zeros
from watchline.streams.detection.baseline import Baseline
from watchline.streams.detection.rules import Rule
from watchline.streams.detection.scale import relative_change, to_scale
from watchline.streams.detection.score import Score, locate, score
from watchline.streams.detection.season import Place
from watchline.streams.detection.verdict import Reason, Verdict, least_change


def judge(baseline: Baseline, rule: Rule, at: float, value: float, *, learn: bool = True) -> Verdict:
    """Judge one successful run that started *at*, then learn from it.

    *at* is in epoch seconds shifted by the UTC offset of the pipeline's zone. A run older than the newest
    learnt one is judged, not learnt, and so is any run with *learn* false. A value that isn't finite is not judged.
    """
    runs, used = baseline.runs, baseline.seasons
    warming_up = runs < rule.min_runs
    if not isfinite(value):
        return Verdict(rule, value, None, None, False, warming_up, runs)
    static = _static(rule, value)
    y = to_scale(value, rule.kind, rule.scale)
    if not runs:
        if learn:
            learning.begin(baseline, at, y, value)
        return Verdict(rule, value, None, static, False, warming_up, runs)

    where = locate(baseline, rule, at)
    scored = score(baseline, rule, y, where)
    streak = 1.0 if value else zeros.streak_with_zero(baseline)
    common = not value and zeros.is_common(baseline, streak)
    small = warming_up or common or abs(value - scored.expected) < least_change(rule, scored.expected)
    reason: Reason | None = None
    if not small and abs(scored.z) > rule.z_limit:
        reason = "point" if value else "zero"
    shifted, token = False, b""
    if learn and at >= baseline.last_at:
        if not common:
            scored, reason, shifted, token = _follow(
                baseline, rule, where, scored, reason=reason, small=small, answerable=static is not None
            )
        elif baseline.has_former:
            shift.grow_older(baseline)
        baseline.last_at = at
        baseline.streak = streak
        zeros.count(baseline, not value)
    if reason and rule.direction != "both" and (rule.direction == "high") == (scored.residual < 0.0):
        reason = None
    reason = static or reason
    return Verdict(rule, value, scored, reason, shifted, warming_up, runs, season.NAMES[used], token if reason else b"")


def _follow(
    baseline: Baseline,
    rule: Rule,
    where: Place,
    scored: Score,
    *,
    reason: Reason | None,
    small: bool,
    answerable: bool,
) -> tuple[Score, Reason | None, bool, bytes]:
    """Adopt the level that this run brings to light, or learn the run: score, reason, shifted and token.

    *small* runs are no news; an *answerable* run leaves a token even without a reason of its own.
    """
    move, settled, far = 0.0, False, False
    if baseline.runs >= rule.min_runs and shift.accumulate(baseline, scored.z, scored.residual):
        move, settled = shift.move(baseline)
        far = relative_change(move, scored.centre, rule.scale) >= rule.min_relative_change
        if far and not small and reason is None and move * scored.residual > 0.0:
            reason = "sustained"
    if baseline.has_former:
        if reason and shift.is_back(baseline, scored):
            shift.recover(baseline)
            y = scored.centre + scored.residual
            scored, reason, settled = score(baseline, rule, y, where), None, False
        else:
            shift.grow_older(baseline)
    if settled:
        shift.rebase(baseline, move)
        return scored, reason, far, b""
    answerable = answerable or reason is not None
    return scored, reason, False, learning.learn(baseline, rule, where, scored, answerable)


def _static(rule: Rule, value: float) -> Reason | None:
    low, high = rule.min_value, rule.max_value
    broken = (low is not None and value < low) or (high is not None and value > high)
    return "static" if broken else None
