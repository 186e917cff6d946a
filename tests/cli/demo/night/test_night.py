import signal
from pathlib import Path

import pytest

from terminals.processes import all_gone
from terminals.terminal import OpenTerminal

NIGHT_SECONDS = 300.0


@pytest.mark.faults
def test_the_night_on_the_real_stack_comes_out_as_expected_and_leaves_nothing_behind(
    terminal: OpenTerminal, tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    demo = terminal("demo", "--scenario", "night", environment={"TMPDIR": str(temporary), "COLUMNS": "80"})
    demo.wait_for("Night of", seconds=NIGHT_SECONDS)
    processes = demo.processes()
    code = demo.wait(seconds=NIGHT_SECONDS)

    assert code == 0, demo.shown
    assert "10 incidents, all explained: none false, none missing" in demo.shown
    assert "5 downstream late for it" in demo.shown
    assert demo.shown.count("the same") == 10
    assert list(temporary.iterdir()) == []
    assert all_gone(processes)


def test_the_night_is_played_as_a_whole(terminal: OpenTerminal) -> None:
    demo = terminal("demo", "--scenario", "night", "--limit", "5")

    assert demo.wait() == 2
    assert "is for the history" in demo.shown


def test_a_night_is_not_played_onto_another_one(terminal: OpenTerminal, tmp_path: Path) -> None:
    (tmp_path / ".watchline" / "night").mkdir(parents=True)

    demo = terminal("demo", "--scenario", "night", "--keep")

    assert demo.wait() == 2
    assert "holds a night already" in demo.shown


@pytest.mark.faults
def test_a_kept_night_goes_on_until_ctrl_c(terminal: OpenTerminal, tmp_path: Path) -> None:
    demo = terminal("demo", "--scenario", "night", "--keep")
    demo.wait_for("watchline dev --data-dir .watchline/night", seconds=NIGHT_SECONDS)

    demo.signal(signal.SIGINT)

    assert demo.wait() == 0
    assert (tmp_path / ".watchline" / "night" / "postgres" / "data" / "PG_VERSION").exists()
