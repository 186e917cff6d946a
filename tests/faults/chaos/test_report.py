"""The report names every invariant, and fits 80 columns without colour."""

from __future__ import annotations

import io
from datetime import UTC, datetime

from rich.console import Console

from faults.chaos.outcome import Outcome, Plan
from faults.chaos.probes import Recovery
from faults.chaos.report import as_document, show
from faults.chaos.schedule import Fault
from faults.invariants.progress import Recovery as Rest
from faults.invariants.violations import Violation

KILL = Fault(1, 5.0, "worker killed", "worker 1", 1.0)


def outcome(*violations: Violation, recovered: float | None = 2.0) -> Outcome:
    recovery = Recovery(KILL, 0.0, datetime(2026, 11, 30, tzinfo=UTC), recovered)
    return Outcome(
        Plan(6, 1, [KILL], apache=True), list(violations), [recovery], Rest(1.0, 0.1), seconds=360.0
    )  # fmt: skip


def printed(of: Outcome) -> str:
    file = io.StringIO()
    show(of, Console(file=file, width=80, force_terminal=False))
    return file.getvalue()


def test_every_invariant_is_named_and_no_line_is_too_long() -> None:
    lines = printed(outcome()).splitlines()

    assert {line.split()[0] for line in lines if line.startswith("I")} == {f"I{number}" for number in range(1, 21)}
    assert max(map(len, lines)) <= 80
    assert "nothing was violated" in lines


def test_a_violation_is_shown_with_its_invariant() -> None:
    text = printed(outcome(Violation("I2", "run 7 is missing")))

    assert "I2: run 7 is missing" in text
    assert "violated: I2" in text
    assert as_document(outcome(Violation("I2", "x")))["invariants"]["I2"]["state"] == "violated"


def test_what_a_run_does_not_show_is_not_called_ok() -> None:
    states = {name: one["state"] for name, one in as_document(outcome())["invariants"].items()}

    assert {name for name, state in states.items() if state != "ok"} == {"I11", "I12", "I13", "I20"}


def test_what_could_not_be_looked_at_says_why() -> None:
    young = outcome()
    young.unjudged["I16"] = "all were young"

    assert as_document(young)["invariants"]["I16"]["state"] == "not judged: all were young"


def test_a_fault_that_never_recovered_has_no_number() -> None:
    document = as_document(outcome(recovered=None))

    assert document["faults"]["worker killed"] == {"count": 1, "median_seconds": None, "worst_seconds": None}
