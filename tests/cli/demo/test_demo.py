import signal
from pathlib import Path

from terminals.processes import all_gone
from terminals.terminal import OpenTerminal

DEMO_SECONDS = 180.0


def test_the_demo_stores_every_run_reports_and_alerts_and_leaves_nothing_behind(
    terminal: OpenTerminal, tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    demo = terminal("demo", "--limit", "1500", environment={"TMPDIR": str(temporary)})
    demo.wait_for("runs stored", seconds=DEMO_SECONDS)
    processes = demo.processes()
    code = demo.wait(seconds=DEMO_SECONDS)

    assert code == 0, demo.shown
    assert "All 1,500 runs are in Postgres" in demo.shown
    assert "kafka/JDK_8" in demo.shown
    assert "Strongest anomalies" in demo.shown
    assert "demo/orders_daily" in demo.wait_for("FAIL")
    assert "select * from reporting.anomalies" in demo.shown
    assert list(temporary.iterdir()) == []
    assert all_gone(processes)


def test_a_kept_demo_goes_on_until_ctrl_c(terminal: OpenTerminal, tmp_path: Path) -> None:
    demo = terminal("demo", "--limit", "200", "--keep")
    demo.wait_for("Everything goes on running", seconds=DEMO_SECONDS)
    psql = demo.wait_for("PGPASSWORD=")

    demo.signal(signal.SIGINT)
    code = demo.wait()

    assert code == 0
    assert str(tmp_path) in psql
    assert (tmp_path / ".watchline" / "postgres" / "data" / "PG_VERSION").exists()


def test_a_demo_stopped_half_way_ends_without_a_traceback(terminal: OpenTerminal) -> None:
    demo = terminal("demo")
    demo.wait_for("streams worker", seconds=DEMO_SECONDS)
    processes = demo.processes()

    demo.signal(signal.SIGINT)
    code = demo.wait()

    assert code == 130
    assert "Traceback" not in demo.shown
    assert all_gone(processes)
