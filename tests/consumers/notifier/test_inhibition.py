"""Which late pipeline explains which other one."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from slack.incidents import NOON
from watchline.consumers.notifier.inhibition import Late, Lineage, Reads, causes_of

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
    lineage = Lineage([reads("a", "a")])

    assert lineage.upstream_of("a") == frozenset()
    assert explained([late("a")], [late("a")], lineage) == {}


def test_a_pipeline_without_a_declaration_explains_nothing_and_is_explained_by_nothing() -> None:
    assert explained([late("x")], [late("y"), late("x")], CHAIN) == {}


def test_a_chain_of_a_thousand_is_followed_to_its_top() -> None:
    names = [f"p{number}" for number in range(1000)]
    lineage = Lineage(
        [Reads(n, frozenset(names[max(place - 1, 0) : place]), frozenset({n})) for place, n in enumerate(names)]
    )

    assert len(lineage.upstream_of("p999")) == 999


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=15),
    st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5), min_size=1),
)
def test_in_any_graph_somebody_late_is_told_and_every_cause_is_late_and_upstream(
    edges: list[tuple[str, str]], times: dict[str, int]
) -> None:
    lineage = Lineage([reads(name, *(up for up, down in edges if down == name)) for name in NAMES])
    everyone = [late(name, minutes) for name, minutes in times.items()]

    causes = explained(everyone, everyone, lineage)

    assert set(causes) < set(times)
    assert set(causes) & set(causes.values()) == set()  # a cause is told
    assert all(cause in lineage.upstream_of(name) and cause in times for name, cause in causes.items())
