from datetime import UTC, date, datetime
from io import StringIO
from uuid import UUID

import pytest
from rich.console import Console

from watchline.cli.demo.night.account import Account, Change, Incident, change_of, untold
from watchline.cli.demo.night.clock import Night
from watchline.cli.demo.night.heard import Heard
from watchline.cli.demo.night.report import check_table, messages_table, quiet_table, timeline_table
from watchline.cli.demo.night.script import Script, write_script
from watchline.cli.demo.night.show import judge
from watchline.cli.demo.night.verdict import compare, count_starts, wrong_starts
from watchline.schemas.errors import WatchlineError
from watchline.schemas.records import revision_of

NIGHT = Night(date(2026, 10, 25))
SCRIPT = write_script(NIGHT)
ID = UUID("0123abcd-0000-4000-8000-000000000000")


def perfect(script: Script) -> Account:
    incidents = tuple(
        Incident(one.pipeline, one.kind, one.opened_at, one.resolved_at, one.reason, one.under is None, one.under)
        for one in script.outcomes
    )
    return Account((), incidents, {(due.pipeline, due.at): due.state for due in script.dues})


def change(number: int = 1, *, told: bool = True, transition: str = "opened", severity: str = "warn") -> Change:
    return Change(
        at=NIGHT.at("22:15"), incident_id=ID, number=number, pipeline="raw_orders", kind="freshness",
        transition=transition, severity=severity, title="data is getting old", reason=None, told=told, under=None,
    )  # fmt: skip


def judgements(incidents: tuple[Incident, ...]) -> list[str]:
    lines = compare(SCRIPT, Account((), incidents, {}))
    return [line.judgement for line in lines if line.judgement != "as expected"]


def test_a_night_as_it_must_be_has_no_fault() -> None:
    assert judgements(perfect(SCRIPT).incidents) == []
    assert wrong_starts(SCRIPT, perfect(SCRIPT)) == []
    judge(SCRIPT, perfect(SCRIPT), [])


def test_an_incident_that_is_not_there_is_missing() -> None:
    assert judgements(perfect(SCRIPT).incidents[1:]) == ["missing"]


def test_an_incident_that_nobody_expects_is_false_even_beside_one_of_its_kind() -> None:
    first = perfect(SCRIPT).incidents[0]

    assert judgements((*perfect(SCRIPT).incidents, first)) == ["false"]


@pytest.mark.parametrize(
    "spoiled",
    [
        {"opened_at": datetime(2026, 10, 24, 20, 1, tzinfo=UTC)},
        {"resolved_at": None},
        {"reason": "manual"},
        {"told": False},
        {"under": "raw_orders"},
    ],
)
def test_an_incident_is_different_by_its_times_its_end_and_who_heard_of_it(spoiled: dict[str, object]) -> None:
    first, *others = perfect(SCRIPT).incidents
    fields = {name: getattr(first, name) for name in Incident.__slots__} | spoiled

    assert judgements((Incident(**fields), *others)) == ["different"]


def test_a_start_that_was_judged_wrongly_is_named() -> None:
    starts = dict(perfect(SCRIPT).starts) | {("sms_digest", NIGHT.at("00:40")): "missed"}
    del starts["ledger_close", NIGHT.at("02:30")]
    starts["ledger_close", NIGHT.at("02:30", again=True)] = "met"

    assert wrong_starts(SCRIPT, Account((), (), starts)) == [
        "sms_digest due 00:40 CEST: missed, expected unknown",
        "ledger_close due 02:30 CET: met, expected no start",
        "ledger_close due 02:30 CEST: not decided, expected met",
    ]


def test_a_night_with_a_fault_ends_with_an_error_that_names_it() -> None:
    found = perfect(SCRIPT)

    with pytest.raises(WatchlineError, match="invoice_render timeliness is missing"):
        judge(SCRIPT, Account((), found.incidents[1:], found.starts), [])


def test_starts_are_counted_by_what_became_of_them() -> None:
    assert count_starts(perfect(SCRIPT)) == "57 met, 1 late, 1 unknown"


def test_a_change_stands_at_the_moment_at_which_the_log_brought_it() -> None:
    row = {
        "incident_id": ID, "transition_no": 1, "transition": "opened", "severity": "fail", "resolve_reason": None,
        "revision": revision_of(3, 41), "pipeline": "raw_orders", "kind": "freshness", "title": "data is stale",
        "state": "inhibited", "cause": "upstream",
    }  # fmt: skip

    found = change_of(row, {"raw_orders": 5}, {(5, 41): NIGHT.at("04:35")})

    assert (found.at, found.told, found.under) == (NIGHT.at("04:35"), False, "upstream")


def test_only_the_newest_change_that_was_told_has_to_be_heard() -> None:
    changes = [change(1), change(2), change(3, told=False)]

    assert untold(changes, {("0123abcd", 2)}) == []
    assert untold(changes, {("0123abcd", 1)}) == [changes[1]]


def test_everything_reads_at_80_columns_and_without_colour() -> None:
    console = Console(file=StringIO(), width=80, color_system=None)
    changes = [change(1), change(2, transition="updated", severity="fail"), change(3, transition="updated")]
    heard = [Heard(("FAIL raw_orders: data is stale " + "and so on " * 9,), "0123abcd", 2)]

    for table in (timeline_table(changes), messages_table(heard, changes), quiet_table(SCRIPT.stories)):
        console.print(table)
    console.print(check_table(compare(SCRIPT, Account((), perfect(SCRIPT).incidents[1:], {}))))

    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "freshness escalated" in shown
    assert "MISSING" in shown
    assert "ads_spend: two attempts" in shown
