"""The baselines of one pipeline: what its runs have taught, metric by metric."""

from __future__ import annotations

from watchline.streams.detection import Baseline, pack, unpack
from watchline.streams.rows import RunsRow

MAX_BASELINES = 24  # keeps a row within a few KB


class Baselines:
    """The baselines of one row, unpacked on first use and packed again at the end of a batch."""

    def __init__(self, row: RunsRow) -> None:
        self._row = row
        self._open: dict[str, Baseline] = {}

    def get(self, metric: str) -> Baseline | None:
        """The baseline of `metric`, a new one for a new metric; None once the pipeline has too many."""
        held = self._open.get(metric)
        if held is None:
            packed = self._row.baselines.get(metric)
            if packed is None and len(self._row.baselines.keys() | self._open.keys()) >= MAX_BASELINES:
                return None
            held = self._open[metric] = Baseline() if packed is None else unpack(packed)
        return held

    def known(self, metric: str) -> Baseline | None:
        """The baseline of `metric` as it stands, None if there is none."""
        return self.get(metric) if metric in self._open or metric in self._row.baselines else None

    def close(self) -> None:
        """Put what was learnt back into the row."""
        for metric, baseline in self._open.items():
            self._row.baselines[metric] = pack(baseline)
