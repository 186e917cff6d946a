"""I4, I5: what a worker remembers is what a plain fold of its partition remembers, each key in one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set

from faults.invariants.violations import Violation, found
from watchline.streams.rows import RunsRow, decode_row, is_clock


def replay_equality(expected: Mapping[bytes, bytes], held: Mapping[bytes, bytes]) -> list[Violation]:
    """I4: the baselines of each pipeline equal, byte for byte, those of a fold that nobody disturbed.

    Both map a key to its encoded row of the table `runs`.
    """
    return found("I4", _other_baselines(expected, held))


def _other_baselines(expected: Mapping[bytes, bytes], held: Mapping[bytes, bytes]) -> Iterator[str]:
    for key, raw in expected.items():
        ours = decode_row(RunsRow, held[key]).baselines if key in held else {}
        theirs = decode_row(RunsRow, raw).baselines
        for metric in sorted(ours.keys() | theirs.keys()):
            if ours.get(metric) != theirs.get(metric):
                yield f"the baseline of {key!r} for {metric} is not that of the plain fold"


def changelog_is_table(
    homes: Mapping[bytes, Set[int]],
    rows: Mapping[bytes, bytes],
    expected: Mapping[bytes, bytes],
    *,
    partition_of: Callable[[bytes], int],
) -> list[Violation]:
    """I5: each key stands in one partition of the changelog, the partitioner's; its last row is the table's.

    `homes` are the partitions in which a key was ever found, `rows` its last row, `expected` the row of the table.
    """
    return found("I5", [*_strays(homes, partition_of), *_other_rows(rows, expected)])


def _strays(homes: Mapping[bytes, Set[int]], partition_of: Callable[[bytes], int]) -> Iterator[str]:
    for key, partitions in homes.items():
        if not is_clock(key) and partitions != {partition_of(key)}:
            yield f"{key!r} stands in partitions {sorted(partitions)} of the changelog, not {partition_of(key)}"


def _other_rows(rows: Mapping[bytes, bytes], expected: Mapping[bytes, bytes]) -> Iterator[str]:
    for key in sorted(rows.keys() | expected.keys()):
        if is_clock(key):
            continue  # it has read as many pulses as its worker has
        if key not in rows:
            yield f"{key!r} has no row in the changelog"
        elif key not in expected:
            yield f"{key!r} has a row in the changelog and none in the table"
        elif rows[key] != expected[key]:
            yield f"the row of {key!r} in the changelog is not that of the table"
