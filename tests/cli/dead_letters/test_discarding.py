"""`watchline dead-letters discard`, and what is asked before anything happens."""

from __future__ import annotations

import asyncio

import pytest

from letters.letters import Commands, Store, of_bytes
from sinking.records import NOON
from stack.contents import rows
from watchline.cli.dead_letters.discarding import discard_letters
from watchline.cli.dead_letters.letters import open_letters

OUTCOME = "status, discard_reason, value"


def test_a_discarded_letter_stays_with_its_reason_and_is_no_longer_listed(call: Commands, store: Store) -> None:
    first, second = store.put_now(of_bytes(1), of_bytes(2))

    result = call("discard", str(first), "--because", "test data", "--yes")

    assert (result.code, result.out) == (0, f"{first}\n")
    assert store.select_now(OUTCOME) == [("discarded", "test data", b"{"), ("open", None, b"{")]
    assert call("list").err == "1 dead letter: 1 invalid_json\n"
    assert ": test data" in call("show", str(first)).out
    assert second


def test_the_view_says_what_became_of_a_letter_and_who_decided(call: Commands, store: Store, database: str) -> None:
    (letter_id,) = store.put_now(of_bytes())

    call("discard", str(letter_id), "--because", "test data", "--yes")

    query = "select status, discarded_by, discarded_at is not null, redriven_count from reporting.dead_letters"
    ((status, by, timed, redriven),) = asyncio.run(rows(database, query))
    assert (status, timed, redriven) == ("discarded", True, 0)
    assert "@" in by


def test_all_of_a_reason_leaves_other_reasons(call: Commands, store: Store) -> None:
    first, _, third = store.put_now(of_bytes(1), of_bytes(2, reason="too_large"), of_bytes(3))

    result = call("discard", "--all", "--reason", "invalid_json", "--because", "x", typed="y\n")

    assert result.out == f"{first}\n{third}\n"
    assert "to discard: 2 dead letters: 2 invalid_json" in result.err
    assert [status for (status,) in store.select_now("status")] == ["discarded", "open", "discarded"]


@pytest.mark.parametrize(("typed", "said"), [("n\n", "not agreed to"), ("\n", "not agreed to"), ("", "--yes answers")])
def test_without_a_yes_nothing_is_done(call: Commands, store: Store, typed: str, said: str) -> None:
    store.put_now(of_bytes())

    result = call("discard", "--all", "--because", "x", typed=typed)

    assert (result.code, result.out) == (1, "")
    assert said in result.err
    assert store.select_now("status") == [("open",)]


def test_a_dry_run_shows_the_letters_and_leaves_them(call: Commands, store: Store) -> None:
    (letter_id,) = store.put_now(of_bytes())

    result = call("discard", "--all", "--because", "x", "--dry-run")

    assert result.code == 0
    assert f" {letter_id} " in f" {result.out} "
    assert "nothing was done" in result.err
    assert store.select_now("status") == [("open",)]


def test_a_letter_is_discarded_once(call: Commands, store: Store) -> None:
    (letter_id,) = store.put_now(of_bytes())
    call("discard", str(letter_id), "--because", "first", "--yes")

    again = call("discard", str(letter_id), "--because", "second", "--yes")

    assert again.code == 1
    assert f"letter {letter_id} is discarded " in again.err
    assert store.select_now("discard_reason") == [("first",)]


async def test_a_letter_that_somebody_decided_about_meanwhile_keeps_that(store: Store, database: str) -> None:
    first, second = await store.put(of_bytes(1), of_bytes(2))
    await rows(database, "update dead_letters set status = 'redriven' where dead_letter_id = $1", first)

    async with open_letters(database) as connection:
        done = await discard_letters(connection, [first, second], at=NOON, by="a@b", because="x")

    assert done == [second]
    assert await store.select("status, discarded_at") == [("redriven", None), ("discarded", NOON)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1", "77", "88"], "no dead letter 77, 88; nothing was done"),
        ([], "name the letters by their ids, or all of them by --all"),
        (["1", "--all"], "not both"),
        (["1", "--reason", "x"], "--reason goes with --all"),
    ],
)
def test_a_wrong_choice_is_named_and_nothing_is_done(
    call: Commands, store: Store, arguments: list[str], said: str
) -> None:
    assert store.put_now(of_bytes()) == [1]

    result = call("discard", *arguments, "--because", "x", "--yes")

    assert result.code == 2
    assert said in result.err
    assert len(result.err.splitlines()) == 2
    assert store.select_now("status") == [("open",)]


def test_a_reason_must_be_given(call: Commands) -> None:
    assert call("discard", "1", "--because", " ").code == 2
    assert call("discard", "1").code == 2
