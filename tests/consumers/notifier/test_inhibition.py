"""Which late pipeline explains which other one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slack.incidents import NOON
from watchline.consumers.notifier.inhibition import Follows, Late, causes_below, causes_of
from watchline.consumers.notifier.lineage import Lineage, Reads

NAMES = "abcdef"


def late(pipeline: str, minutes: int = 0) -> Late:
    return Late(NOON + timedelta(minutes=minutes), UUID(int=ord(pipeline)), pipeline)


def reads(pipeline: str, *sources: str) -> Reads:
    """A pipeline that reads what others write; each writes a dataset of its own name."""
    return Reads(pipeline, frozenset(sources), frozenset({pipeline}))


def explained(held: list[Late], open_ones: list[Late], lineage: Lineage) -> dict[str, str]:
    """The pipeline of each cause, by the pipeline that it explains."""
    causes = causes_of(held, open_ones, lineage)
    return {chr(name.int): chr(cause.int) for name, cause in causes.items()}


CHAIN = Lineage([reads("a"), reads("b", "a"), reads("c", "b"), reads("d", "c")])


def test_everything_downstream_is_explained_by_what_is_late_at_the_top() -> None:
    everyone = [late(name) for name in "abcd"]

    assert explained(everyone, everyone, CHAIN) == {"b": "a", "c": "a", "d": "a"}


def test_a_pipeline_between_that_is_in_time_lets_lateness_through() -> None:
    assert explained([late("d")], [late("a"), late("d")], CHAIN) == {"d": "a"}


def test_lateness_downstream_explains_nothing_upstream() -> None:
    assert explained([late("a")], [late("d")], CHAIN) == {}


def test_of_two_late_parents_the_one_that_was_late_first_is_the_cause() -> None:
    diamond = Lineage([reads("a"), reads("b"), reads("c", "a", "b")])

    assert explained([late("c", 9)], [late("a", 5), late("b", 3), late("c", 9)], diamond) == {"c": "b"}


def test_in_a_circle_the_first_one_is_told_and_explains_the_others() -> None:
    circle = Lineage([reads("a", "c"), reads("b", "a"), reads("c", "b")])
    everyone = [late("a", 2), late("b", 1), late("c", 3)]

    assert explained(everyone, everyone, circle) == {"a": "b", "c": "b"}


def test_a_pipeline_that_reads_what_it_writes_does_not_explain_itself() -> None:
    assert explained([late("a")], [late("a")], Lineage([reads("a", "a")])) == {}


def test_a_pipeline_without_a_declaration_explains_nothing_and_is_explained_by_nothing() -> None:
    assert explained([late("x")], [late("y"), late("x")], CHAIN) == {}


@pytest.mark.parametrize("is_circle", [False, True], ids=["chain", "circle"])
def test_a_chain_or_a_circle_of_twenty_thousand_is_walked_once(is_circle: bool) -> None:
    """Walked anew for each of them, it would take many minutes and all of the memory."""
    names = [f"p{number}" for number in range(20_000)]
    lineage = Lineage(
        [
            Reads(name, frozenset({names[place - 1]} if place or is_circle else ()), frozenset({name}))
            for place, name in enumerate(names)
        ]
    )
    everyone = [Late(NOON + timedelta(minutes=place), UUID(int=place), name) for place, name in enumerate(names)]

    causes = causes_of(everyone, everyone, lineage)

    assert causes == {UUID(int=place): UUID(int=0) for place in range(1, 20_000)}


def test_a_dataset_that_thousands_write_and_thousands_read_is_walked_once() -> None:
    writers = [Reads(f"w{number}", frozenset(), frozenset({"shared"})) for number in range(5000)]
    readers = [Reads(f"r{number}", frozenset({"shared"}), frozenset()) for number in range(5000)]
    everyone = [Late(NOON, UUID(int=place), each.pipeline) for place, each in enumerate([*writers, *readers])]

    causes = causes_of(everyone, everyone, Lineage([*readers, *writers]))

    assert causes == {UUID(int=5000 + place): UUID(int=0) for place in range(5000)}


def followed(declared: Sequence[Reads]) -> dict[str, set[str]]:
    """Everything that each pipeline waits for, by walking from each of them; itself only in a circle with others."""
    feeders = {one.pipeline: {up.pipeline for up in declared if up.targets & one.sources} for one in declared}
    upstream: dict[str, set[str]] = defaultdict(set)
    for name in feeders:
        found, ahead = set[str](), [name]
        while ahead:
            new = feeders[ahead.pop()] - found
            found |= new
            ahead += new
        upstream[name] = found if found - {name} else set()
    return upstream


def defined(held: list[Late], open_ones: list[Late], declared: Sequence[Reads]) -> dict[UUID, UUID]:
    """What `causes_of` means, word by word: of the late ones upstream that nothing late stands above the first."""
    upstream, late_names = followed(declared), {one.pipeline for one in open_ones}
    roots = {name for name in late_names if all(name in upstream[above] for above in late_names & upstream[name])}
    causes = {}
    for one in held:
        possible = [
            cause
            for cause in open_ones
            if cause.pipeline in roots & upstream[one.pipeline] - {one.pipeline}
            and (cause < one or one.pipeline not in upstream[cause.pipeline])
        ]
        if possible:
            causes[one.incident_id] = min(possible).incident_id
    return causes


some_names = st.frozensets(st.sampled_from(NAMES), max_size=3)
some_late = st.lists(st.tuples(st.sampled_from(NAMES + "x"), st.integers(0, 5)), max_size=8, unique=True).map(
    lambda chosen: [Late(NOON + timedelta(minutes=at), UUID(int=n), name) for n, (name, at) in enumerate(chosen)]
)


@settings(deadline=None, max_examples=300)
@given(
    st.fixed_dictionaries({name: st.tuples(some_names, some_names) for name in NAMES}),
    some_late,
    st.sets(st.integers(0, 7)),
    st.sets(st.integers(0, 7)),
)
def test_in_any_graph_each_one_has_the_cause_that_is_defined(
    places: dict[str, tuple[frozenset[str], frozenset[str]]], everyone: list[Late], held: set[int], told: set[int]
) -> None:
    declared = [Reads(name, *sources_and_targets) for name, sources_and_targets in places.items()]
    held_ones = [late for place, late in enumerate(everyone) if place in held]
    open_ones = [late for place, late in enumerate(everyone) if place not in told]

    causes = causes_of(held_ones, open_ones, Lineage(declared))

    assert causes == defined(held_ones, open_ones, declared)


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=15),
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5), min_size=1),
)
def test_in_any_graph_somebody_late_is_told_and_every_cause_is_late_and_upstream(
    edges: list[tuple[str, str]], times: dict[str, int]
) -> None:
    lineage = Lineage([reads(name, *(up for up, down in edges if down == name)) for name in NAMES])
    everyone = [late(name, minutes) for name, minutes in times.items()]
    upstream = followed(lineage.declared)

    causes = explained(everyone, everyone, lineage)

    assert set(causes) < set(times)
    assert set(causes) & set(causes.values()) == set()  # a cause is told
    assert all(cause in upstream[name] and cause in times for name, cause in causes.items())


def follows(name: str, cause: str, depth: int = 1) -> Follows:
    """Failures open in the order of their letters."""
    return Follows(
        UUID(int=ord(name)), NOON + timedelta(minutes=ord(name)), UUID(int=ord(cause)),
        NOON + timedelta(minutes=ord(cause)), depth,
    )  # fmt: skip


def failed_for(*pairs: Follows) -> dict[str, str]:
    return {chr(name.int): chr(cause.int) for name, cause in causes_below(pairs).items()}


def test_a_failure_is_explained_by_the_deepest_one_below_it() -> None:
    assert failed_for(follows("p", "c"), follows("p", "g", 2), follows("c", "g")) == {"p": "g", "c": "g"}


def test_of_two_failures_at_one_depth_the_first_explains_it() -> None:
    assert failed_for(follows("p", "d"), follows("p", "c")) == {"p": "c"}


@given(st.lists(st.builds(follows, st.sampled_from(NAMES), st.sampled_from(NAMES), st.integers(1, 3)), max_size=15))
def test_however_runs_of_pipelines_start_each_other_somebody_is_told(pairs: list[Follows]) -> None:
    apart = [pair for pair in pairs if pair.incident_id != pair.cause_id]

    causes = failed_for(*apart)

    assert set(causes) & set(causes.values()) == set()  # a cause is told
    assert bool(causes) == bool(apart)
