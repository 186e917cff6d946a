"""The report of a run: every invariant by name, what was injected, and how long it took to recover."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from faults.chaos.outcome import Outcome
from faults.chaos.probes import Recovery, worst_and_median

MEBIBYTE = 1 << 20
SHOWN = 8  # violations of one invariant


class Invariant(NamedTuple):
    """What is promised, and how far this run shows it."""

    promise: str
    elsewhere: str = ""  # the tests that show it; empty when the run does


INVARIANTS = {
    "I1": Invariant("what Kafka acknowledged is stored or set aside"),
    "I2": Invariant("each run, anomaly, incident, watermark once, as the oracle says"),
    "I3": Invariant("no commit ahead of what is durable"),
    "I4": Invariant("baselines equal those of a plain fold, bit for bit"),
    "I5": Invariant("changelog equals table, each key in one partition"),
    "I6": Invariant("every alert is heard"),
    "I7": Invariant("no alert twice, but for a crash each"),
    "I8": Invariant("no false alert"),
    "I9": Invariant("dead letters whole, every offset accounted for"),
    "I10": Invariant("lag 0 in 30 s, canary in 5 s, nothing gives up"),
    "I11": Invariant("a job is not harmed", "tests/sdk, tests/faults/test_jobs.py"),
    "I12": Invariant("the SDK's counters add up", "tests/sdk"),
    "I13": Invariant("order and repetition change nothing", "tests/streams; here: the load has both"),
    "I14": Invariant("watermarks never go back"),
    "I15": Invariant("no NaN, no impossible time in Postgres"),
    "I16": Invariant("memory is bounded"),
    "I17": Invariant("no secret in a log"),
    "I18": Invariant("rows and offsets agree at any moment"),
    "I19": Invariant("who lost a partition writes nothing"),
    "I20": Invariant("the monitor is monitored", "not there yet: no dead man's switch"),
}


def state_of(outcome: Outcome, name: str) -> str:
    """`ok`, `violated`, why nothing can be said, or where it is shown."""
    if any(violation.invariant == name for violation in outcome.violations):
        return "violated"
    if name in outcome.unjudged:
        return f"not judged: {outcome.unjudged[name]}"
    return f"elsewhere: {INVARIANTS[name].elsewhere}" if INVARIANTS[name].elsewhere else "ok"


def show(outcome: Outcome, console: Console) -> None:
    """Print it; 80 columns and no colour are enough."""
    console.print(_invariants(outcome))
    console.print(_faults(outcome.recoveries))
    for line in _facts(outcome):
        console.print(Text(line))
    for violation in outcome.violations:
        console.print(Text(str(violation)))
    broken = {violation.invariant for violation in outcome.violations}
    console.print(Text(f"\nviolated: {', '.join(sorted(broken))}" if broken else "\nnothing was violated"))


def as_document(outcome: Outcome) -> dict[str, Any]:
    """The report as JSON."""
    return {
        "minutes": outcome.plan.minutes,
        "seed": outcome.plan.seed,
        "broker": _broker(outcome),
        "machine": f"{platform.system()} {platform.machine()}",
        "invariants": {
            name: {"promise": INVARIANTS[name].promise, "state": state_of(outcome, name)} for name in INVARIANTS
        },
        "violations": [str(violation) for violation in outcome.violations],
        "faults": {
            kind: {"count": count, "median_seconds": _number(median), "worst_seconds": _number(worst)}
            for kind, (count, worst, median) in by_kind(outcome.recoveries).items()
        },
        "events_per_second": round(outcome.rate, 1),
        "counts": dict(sorted(outcome.counts.items())),
        "lag_seconds": round(outcome.rest.lag_seconds, 2),
        "canary_seconds": round(outcome.rest.canary_seconds, 2),
        "slowest_canary_seconds": round(outcome.slowest_canary, 2),
        "slowest_stop_seconds": round(outcome.longest_stop, 2),
        "gave_up": outcome.gave_up,
        "memory_bytes": outcome.memory,
    }


def by_kind(recoveries: Sequence[Recovery]) -> dict[str, tuple[int, float, float]]:
    """Count, worst and median seconds of each kind of fault."""
    return dict(sorted(worst_and_median(recoveries, lambda each: each.fault.kind).items()))


def _invariants(outcome: Outcome) -> Table:
    table = Table("", "promise", "state", box=None, pad_edge=False)
    for name, invariant in INVARIANTS.items():
        table.add_row(name, Text(invariant.promise), Text(state_of(outcome, name)))
    return table


def _faults(recoveries: Sequence[Recovery]) -> Table:
    table = Table("\nfault", "\ntimes", "recovery\nmedian s", "\nworst s", box=None, pad_edge=False)
    for kind, (count, worst, median) in by_kind(recoveries).items():
        table.add_row(kind, str(count), f"{median:.1f}", f"{worst:.1f}")
    return table


def _facts(outcome: Outcome) -> Iterable[str]:
    counts, rest = outcome.counts, outcome.rest
    worst = max((each.seconds or math.inf for each in outcome.recoveries), default=0.0)
    yield ""
    faults = f"{len(outcome.recoveries)} faults on {_broker(outcome)}, seed {outcome.plan.seed}"
    yield f"{faults}; worst recovery {worst:.1f} s"
    yield (
        f"{counts['acknowledged']:,} records acknowledged in {outcome.seconds:.0f} s ({outcome.rate:.0f} a second), "
        f"{counts['unknown']:,} without an answer"
    )
    yield ", ".join(
        f"{counts[name]:,} {name}" for name in ("events", "runs", "anomalies", "incidents", "alerts", "dead letters")
    )
    yield f"{counts['messages']:,} messages taken by Slack, {counts['alerts heard again']} alerts heard again"
    yield f"{counts['alerts told by their number']} alerts were not named in a long message, and counted there"
    looks = f"{counts['moments']:,} different snapshots of Postgres, {counts['looks at commits']:,} looks at commits"
    yield f"{looks}; {counts['late rows in the changelog']} late rows"
    yield f"after the last fault: lag 0 in {rest.lag_seconds:.1f} s, a canary in {rest.canary_seconds:.2f} s"
    yield f"slowest canary {outcome.slowest_canary:.1f} s, slowest stop {outcome.longest_stop:.1f} s"
    yield f"{len(outcome.gave_up)} services gave up, {outcome.refused} could not start as an address did not answer"
    yield from outcome.gave_up
    yield "most memory: " + ", ".join(f"{kind} {size // MEBIBYTE} MiB" for kind, size in outcome.memory.items())


def _broker(outcome: Outcome) -> str:
    if not outcome.plan.apache:
        return "the embedded broker"
    return f"Apache Kafka, {outcome.plan.nodes} node{'s' if outcome.plan.nodes > 1 else ''}"


def _number(seconds: float) -> float | None:
    return None if math.isinf(seconds) else round(seconds, 2)
