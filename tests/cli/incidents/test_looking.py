"""`watchline incidents list` and `show`: everything is seen, and nothing steers the terminal."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from deciding.calls import Call, Store
from sinking.records import after, incident, name_id, resolved
from watchline.schemas.records import IncidentRecord

HOSTILE = "\x1b[2J\u202egnp [red]markup[/red] <!channel> \x7f"
STEERING = ("\x1b", "\u202e", "\x7f")


def of_stock(**changes: Any) -> IncidentRecord:
    fields: dict[str, Any] = {
        "pipeline": "stock",
        "fingerprint": "stock",
        "kind": "failure",
        "severity": "fail",
        "owner": "supply",
    }
    return incident("stock", **fields | {"opened_at": after(hours=1), "at": after(hours=1)} | changes)


def care(**changes: Any) -> IncidentRecord:
    fields: dict[str, Any] = {"transition": "acknowledged", "transition_no": 2, "acknowledged_at": after(minutes=5)}
    return incident(
        revision=3, **fields | {"acknowledged_by": "ada@etl-1", "by": "ada@etl-1", "note": "on it"} | changes
    )


def names_in(out: str) -> list[str]:
    return [json.loads(line)["pipeline"] for line in out.splitlines()]


def test_what_is_not_resolved_is_listed_newest_first_and_counted(call: Call, store: Store) -> None:
    done = incident("done", fingerprint="done", pipeline="done")
    store(incident(), care(), of_stock(), done, resolved("done", fingerprint="done", pipeline="done"))

    result = call("incidents", "list", "--format", "json")

    assert names_in(result.out) == ["stock", "orders_daily"]
    assert result.err == "2 incidents: 1 fail, 1 warn\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--status", "acknowledged"], ["orders_daily"]),
        (["--status", "open"], ["stock"]),
        (["--status", "resolved"], []),
        (["--status", "all", "--limit", "1"], ["stock"]),
        (["--owner", "supply"], ["stock"]),
        (["--kind", "anomaly"], ["orders_daily"]),
        (["--pipeline", "stock' or true --"], []),
    ],
)
def test_a_filter_lets_through_what_it_names(call: Call, store: Store, options: list[str], expected: list[str]) -> None:
    store(incident(), care(), of_stock())

    assert names_in(call("incidents", "list", "--format", "json", *options).out) == expected


def test_a_kind_that_is_none_is_refused_and_the_kinds_are_named(call: Call, store: Store) -> None:
    store(incident())

    result = call("incidents", "list", "--kind", "foo")

    assert (result.code, result.out) == (2, "")
    assert "'foo' is not one of" in result.err
    assert "'missed_start'" in result.err


def test_a_table_fits_eighty_columns_and_says_who_takes_care(call: Call, store: Store) -> None:
    store(incident(pipeline="p" * 150), care(pipeline="p" * 150), of_stock(title="t" * 150))

    out = call("incidents", "list").out

    assert max(map(len, out.splitlines())) <= 80
    for word in (str(name_id("incident"))[:8], "acknowledged", "ada@etl-1", "on it", "fail", "open"):
        assert word in out


def test_nobody_is_steered_by_a_name_or_a_note(call: Call, store: Store) -> None:
    fields: dict[str, Any] = {"pipeline": HOSTILE, "title": HOSTILE, "owner": HOSTILE}
    store(incident(**fields), care(**fields, acknowledged_by=HOSTILE, by=HOSTILE, note=HOSTILE))

    printed = [
        call("incidents", "list"), call("incidents", "list", "--format", "json"),
        call("incidents", "show", str(name_id("incident"))),
        call("incidents", "show", str(name_id("incident")), "--format", "json"),
    ]  # fmt: skip

    assert [result.code for result in printed] == [0] * 4
    assert [each for result in printed for each in STEERING if each in result.out + result.err] == []


def test_one_incident_is_shown_with_what_was_seen_and_every_change(call: Call, store: Store) -> None:
    store(incident(), care(), resolved(revision=4, transition_no=3, resolve_reason="manual", by="bob@x", note="done"))

    lines = call("incidents", "show", str(name_id("incident"))[:8]).out.splitlines()

    assert f"incident  {name_id('incident')}" in lines
    assert "seen      inserts 12" in lines
    assert [line for line in lines if line.startswith("change")] == [
        "change    1 2026-11-30 12:00:00 UTC opened warn",
        "change    2 2026-11-30 12:00:00 UTC acknowledged warn by ada@etl-1: on it",
        "change    3 2026-11-30 13:00:00 UTC resolved warn (manual) by bob@x: done",
    ]


def test_an_incident_as_json_has_its_facts_and_changes(call: Call, store: Store) -> None:
    store(incident(), care())

    shown = json.loads(call("incidents", "show", str(name_id("incident")), "--format", "json").out)

    assert (shown["state"], shown["facts"][0]["name"], len(shown["changes"])) == ("acknowledged", "inserts", 2)


def test_a_beginning_that_several_ids_have_is_refused_and_they_are_named(call: Call, store: Store) -> None:
    ids = [UUID(f"abcdef12-0000-4000-8000-00000000000{n}") for n in range(2)]
    store(*(incident(incident_id=one, fingerprint=str(one)) for one in ids))

    ambiguous, exact = call("incidents", "show", "abcdef12"), call("incidents", "show", str(ids[1]).upper())

    assert ambiguous.code == 2
    assert all(str(one) in ambiguous.err for one in ids)
    assert exact.code == 0


@pytest.mark.parametrize("wrong", ["deadbeef", "%", "ab", "' or true", "x" * 99])
def test_an_id_that_is_none_is_named_with_a_hint(call: Call, store: Store, wrong: str) -> None:
    store(incident())

    result = call("incidents", "show", wrong)

    assert result.code == 2
    assert wrong in result.err
    assert "hint:" in result.err
