"""What `watchline restore-state` says when it refuses."""

from __future__ import annotations

import pytest

from watchline.cli.restoring.changelog import Held
from watchline.cli.restoring.remains import Remains
from watchline.cli.restoring.safety import Doubt, find_newer, refuse
from watchline.schemas.errors import WatchlineError


def test_the_name_of_a_pipeline_changes_no_advice() -> None:
    newer = find_newer(Held({0: {b"sink_orders": 9}}), Remains(begins={0: 5}, ends={0: 10}))
    assert newer is not None

    with pytest.raises(WatchlineError, match="newer rows of sink_orders: nothing was written") as refused:
        refuse(None, [newer], force=False)

    assert refused.value.hint == "--force goes on all the same, and replaces newer rows"


def test_every_doubt_is_said_with_what_does_away_with_it() -> None:
    with pytest.raises(WatchlineError, match="late; odd: nothing was written") as refused:
        refuse(None, [Doubt("late", "wait"), Doubt("odd")], force=False)

    assert refused.value.hint == "wait; --force goes on all the same, and replaces newer rows"


def test_force_is_no_help_against_a_worker_that_runs() -> None:
    with pytest.raises(WatchlineError, match="2 workers are running: nothing was written"):
        refuse("2 workers are running", [], force=True)
