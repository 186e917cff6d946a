"""What the database is filled with: how much, over which time, and which pipelines are asked about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

BYTES_PER_RUN = 1_000  # rows and indexes of runs, slots and the rest; measured
UNFOLDED_RUNS = 1_000  # the newest: a sink under load has not folded their days yet
SPARE_BYTES = 10 * 2**30  # Postgres's own log, sorting, and what has to stay free


@dataclass(frozen=True, slots=True)
class Size:
    """`runs` runs of `pipelines` pipelines over `days` days up to `until`; the same `seed` makes the same rows."""

    runs: int
    pipelines: int
    until: datetime
    days: int = 400
    seed: int = 1

    @property
    def since(self) -> datetime:
        return self.until - timedelta(days=self.days)

    @property
    def folded_runs(self) -> int:
        """How many runs are counted in the days of their pipelines."""
        return max(0, self.runs - UNFOLDED_RUNS)

    @property
    def step_seconds(self) -> float:
        """From the start of a run to the start of the next one, of whatever pipeline."""
        return self.days * 86_400 / self.runs

    @property
    def busiest(self) -> str:
        """The pipeline with the most runs: one in the square root of `pipelines`."""
        return name_of(0)

    @property
    def typical(self) -> str:
        """A pipeline that half of the others run more often than; it has a schedule and a limit of freshness."""
        return name_of(self.pipelines // 20 * 10)

    @property
    def month(self) -> tuple[datetime, datetime]:
        """The last whole month: its first instant and that of the next one."""
        end = self.until.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        return (end - timedelta(days=1)).replace(day=1), end

    @property
    def bytes_needed(self) -> int:
        """What the disk must have free."""
        return self.runs * BYTES_PER_RUN + SPARE_BYTES


def name_of(number: int) -> str:
    """The name of a pipeline; low numbers run more often."""
    return f"pipeline_{number:05}"
