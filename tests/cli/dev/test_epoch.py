from pathlib import Path

import pytest

from watchline.cli.dev.epoch import next_epoch
from watchline.schemas.errors import Misconfigured


def test_every_start_counts_one_further(tmp_path: Path) -> None:
    counter = tmp_path / "log_epoch"

    assert [next_epoch(counter) for _ in range(3)] == [1, 2, 3]


def test_a_counter_that_is_no_number_is_not_started_over(tmp_path: Path) -> None:
    counter = tmp_path / "log_epoch"
    counter.write_text("seven")

    with pytest.raises(Misconfigured, match="log_epoch"):
        next_epoch(counter)
    assert counter.read_text() == "seven"
