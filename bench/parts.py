"""The parts of the report: which benchmarks there are, how each is called, and what its JSON says."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.figures import Figure, all_of

Arguments = tuple[str, ...]
SINK_BUDGET = 40_000
TRANSPORT_BUDGET_US = 40.0
PRODUCT_TIMES = 4.0
CORE_GOAL = 20_000
REFERENCES = {
    "naive": "naive agent",
    "transport": "Faust's own part (transport)",
    "naive-product": "naive agent, the product's fold",
    "product": "whole product",
}


@dataclass(frozen=True, slots=True)
class Part:
    """One benchmark, called with `full` or `quick` arguments, `times` over; `read` takes its answers.

    `takes_broker`: it can be pointed at a Kafka with `--broker`; `needs_broker`: it is left out without one.
    """

    name: str
    full: Arguments
    quick: Arguments
    read: Callable[[Sequence[Any]], list[Figure]]
    times: int = 1
    takes_broker: bool = False
    needs_broker: bool = False

    def arguments(self, *, quick: bool, broker: str | None) -> Arguments:
        """What follows `python` on the command line."""
        place = ("--broker", broker) if broker and self.takes_broker else ()
        return ("-m", f"bench.{self.name}", *(self.quick if quick else self.full), *place, "--json")


def read_figures(answers: Sequence[Any]) -> list[Figure]:
    """The answer of a part that prints figures."""
    return all_of(answers[0])


def read_streams(answers: Sequence[Any]) -> list[Figure]:
    """CPU per event of each engine, against the naive agent of the same run."""
    engines: Mapping[str, Mapping[str, float]] = answers[0]["engines"]
    figures = []
    for name, found in engines.items():
        low, high = found["cpu_us_min"], found["cpu_us_max"]
        values = (found["cpu_us"],) if low == high else (low, found["cpu_us"], high)
        limit = TRANSPORT_BUDGET_US if name == "transport" else None
        ratio = f"{found['times_below_naive']:.1f}x below naive" if not name.startswith("naive") else ""
        figures.append(Figure(f"CPU per event, {REFERENCES[name]}", "µs", values, limit, ratio=ratio))
    if "product" in engines:
        product = engines["product"]
        times, rate = (product["times_below_naive_product"],), (product["events_per_core_second"],)
        figures.append(
            Figure("whole product below the naive agent, same fold", "times", times, PRODUCT_TIMES, at_least=True)
        )
        figures.append(Figure("whole product, goal", "events/s and core", rate, CORE_GOAL, at_least=True))
    return figures


def read_sink(answers: Sequence[Mapping[str, float]]) -> list[Figure]:
    """Rows a second of each way into Postgres, against the plain COPY of its own round; an answer is a round."""
    figures = []
    for name in answers[0]:
        values = tuple(answer[name] for answer in answers)
        limit = None if name == "plain COPY" else SINK_BUDGET
        share = statistics.median(answer[name] / answer["plain COPY"] for answer in answers)
        ratio = "" if name == "plain COPY" else f"{share:.0%} of COPY"
        figures.append(Figure(name, "rows/s", values, limit, at_least=True, ratio=ratio))
    return figures


def read_detection(answers: Sequence[Mapping[str, Mapping[str, float]]]) -> list[Figure]:
    """Quality of the verdicts; the same on every machine, but for the time a verdict takes."""
    names = {"f1": ("F1", ""), "false_per_30d": ("false flags a metric", "in 30 days"), "us_per_run": ("verdict", "µs")}
    return [
        Figure(f"{corpus}: {title}", unit, (found[key],))
        for corpus, found in answers[0].items()
        for key, (title, unit) in names.items()
    ]


PARTS = (
    Part(
        "streams",
        ("--engines", "naive,transport,naive-product,product", "--events", "40000", "--rounds", "3"),
        ("--engines", "naive,transport,naive-product,product", "--events", "20000", "--rounds", "1"),
        read_streams,
        takes_broker=True,
    ),
    Part("sink", ("--rounds", "1"), ("--rounds", "1", "--rows", "10000"), read_sink, times=3),
    Part(
        "reporting",
        (),
        ("--runs", "200000", "--repeats", "2", "--rounds", "1", "--rows", "10000"),
        read_figures,
    ),
    Part("latency", (), ("--rounds", "1", "--seconds", "6", "--warmup", "3"), read_figures, takes_broker=True),
    Part("sdk", (), ("--rounds", "2"), read_figures),
    Part("memory", (), ("--rounds", "1", "--pipelines", "4000"), read_figures),
    Part("restart", (), ("--pipelines", "10000"), read_figures, takes_broker=True, needs_broker=True),
    Part("detection", (), ("--synthetic", "201"), read_detection),
)
