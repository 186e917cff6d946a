"""The job's process: exit codes, signals, forks and the end. Each test runs processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from watchline.sdk.outbox import Outbox

Start = Callable[..., "subprocess.Popen[str]"]
RunJob = Callable[..., "subprocess.CompletedProcess[str]"]
PATIENT_SECONDS = 10.0  # the promise is 2 s; the rest is for a busy machine

HEAD = """
import os, sys, time
from watchline.sdk import Pipeline, Watchline
client = Watchline()
orders = client.pipeline(Pipeline(name="orders"))
"""
RUN = "with orders.run(): pass\n"


def events_in(outbox_dir: Path) -> list[dict[str, Any]]:
    """What the job left in the outbox, in order, claimed."""
    outbox = Outbox(outbox_dir / "watchline", max_bytes=1 << 20)
    found = []
    while not outbox.is_empty():
        with outbox.claim() as segment:
            assert segment is not None
            found += [json.loads(item.value) for item in segment.messages]
            segment.delete()
    return found


def ends_in(outbox_dir: Path) -> list[tuple[str, str | None]]:
    """Status and error text of the runs that ended."""
    ended = [event for event in events_in(outbox_dir) if event["event_type"] == "run.ended"]
    return [(event["status"], event.get("error", {}).get("message")) for event in ended]


def test_importing_opens_nothing(run_job: RunJob) -> None:
    done = run_job(
        """
        import os, threading, signal, sys
        before = set(os.listdir("/proc/self/fd"))
        import watchline.sdk
        client = watchline.sdk.Watchline()
        pipeline = client.pipeline(watchline.sdk.Pipeline(name="orders"))
        assert set(os.listdir("/proc/self/fd")) == before
        assert threading.active_count() == 1
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        loaded = {"aiokafka", "asyncio", "pydantic"} & set(sys.modules)
        assert not loaded, loaded
        """
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("arguments", ["", "'127.0.0.1:1'"])
def test_no_job_loads_pydantic(run_job: RunJob, protocol: str, arguments: str) -> None:
    done = run_job(
        f"""
        import sys
        from watchline.sdk import Pipeline, Watchline
        client = Watchline({arguments})
        try:
            with client.pipeline(Pipeline(name="orders", mutes=["failure"])).run(labels={{"a": "token=hunter2"}}):
                raise ValueError("password=hunter2 at postgres://me:hunter2@host/db")
        except ValueError:
            pass
        client.close()
        assert "aiokafka" in sys.modules
        assert "pydantic" not in sys.modules
        """,
        kafka_security_protocol=protocol,
        kafka_sasl_username="me",
        kafka_sasl_password="hunter2",
    )

    assert done.returncode == 0, done.stderr


def test_without_kafka_the_events_of_a_job_are_kept_in_order_and_it_says_so_once(
    run_job: RunJob, outbox_dir: Path
) -> None:
    done = run_job(HEAD + "with orders.run() as run:\n    run.add(inserts=1); run.advance('x')\nprint('done')")

    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr.count("\n") <= 1
    assert [event["event_type"] for event in events_in(outbox_dir)] == [
        "pipeline.declared", "run.started", "run.ended", "watermark.advanced",
    ]  # fmt: skip


EXITS = [
    ("raise ValueError('no rows')", 1, "ValueError: no rows", ("failed", "no rows")),
    ("sys.exit(3)", 3, "", ("failed", "exit code 3")),
    ("sys.exit('text')", 1, "text", ("failed", "text")),
    ("sys.exit(0)", 0, "", ("succeeded", None)),
    ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt", ("aborted", "")),
]


@pytest.mark.parametrize(("statement", "code", "stderr", "end"), EXITS)
def test_how_a_process_ends_is_how_its_run_ends(
    run_job: RunJob, outbox_dir: Path, statement: str, code: int, stderr: str, end: tuple[str, str | None]
) -> None:
    done = run_job(HEAD + f"with orders.run():\n    {statement}")

    assert done.returncode == code
    assert stderr in done.stderr
    assert ends_in(outbox_dir) == [end]


def test_ctrl_c_before_kafka_s_client_is_loaded_leaves_the_exit_code_alone(run_job: RunJob) -> None:
    """Python forgets a Ctrl-C when any thread runs source later, as dataclasses do while they are imported."""
    done = run_job(
        "import threading\n" + HEAD + "interrupted = threading.Event()\n"
        "sys.excepthook = lambda *error: interrupted.set()\n"
        "def connect():\n    interrupted.wait(); exec('x = 1'); raise ConnectionError\n"
        "client.outlet._connect = connect\n"
        "with orders.run():\n    raise KeyboardInterrupt"
    )

    assert done.returncode == -signal.SIGINT


def wait_for_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


@pytest.mark.parametrize("waiting", ["time.sleep(60)", "asyncio.run(wait())", "threading.Event().wait()"])
@pytest.mark.parametrize(("number", "end"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "")])
def test_a_signal_ends_the_run_and_the_process_as_it_would_without_us(
    start_job: Start, outbox_dir: Path, waiting: str, number: signal.Signals, end: str
) -> None:
    body = """
import asyncio, threading, time
async def wait():
    print("ready", flush=True)
    await asyncio.sleep(60)
def work():
    if "asyncio" not in WAITING:
        print("ready", flush=True)
    eval(WAITING)
"""
    body = f"WAITING = {waiting!r}\n{body}"
    bare = start_job(body + "work()")
    child = start_job(body + HEAD + "with orders.run():\n    work()")
    for process in (bare, child):
        assert wait_for_line(process) == "ready"
        process.send_signal(number)

    codes = [process.wait(PATIENT_SECONDS) for process in (bare, child)]

    assert codes == [-number, -number]
    assert ends_in(outbox_dir) == [("aborted", end)]


def test_a_handler_of_the_job_s_own_is_left_alone(start_job: Start, outbox_dir: Path) -> None:
    child = start_job(
        "import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(42))\n"
        + HEAD
        + "with orders.run():\n    print('ready', flush=True); time.sleep(60)"
    )
    assert wait_for_line(child) == "ready"

    child.terminate()

    assert child.wait(PATIENT_SECONDS) == 42
    assert ends_in(outbox_dir) == [("failed", "exit code 42")]


def test_a_run_in_another_thread_leaves_sigterm_alone(start_job: Start) -> None:
    child = start_job(
        HEAD
        + "import signal, threading\n"
        + "thread = threading.Thread(target=lambda: orders.run().begin()); thread.start(); thread.join()\n"
        + "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"
    )

    assert child.wait(PATIENT_SECONDS) == 0


def test_sigterm_with_a_silent_kafka_still_ends_in_time(start_job: Start, blackhole: str, outbox_dir: Path) -> None:
    child = start_job(
        HEAD + "with orders.run():\n    print('ready', flush=True); time.sleep(60)", kafka_bootstrap_servers=blackhole
    )
    assert wait_for_line(child) == "ready"

    child.terminate()

    assert child.wait(PATIENT_SECONDS) == -signal.SIGTERM
    assert ends_in(outbox_dir) == [("aborted", "SIGTERM")]


def test_a_manual_run_is_left_open_at_sigterm(start_job: Start, outbox_dir: Path) -> None:
    child = start_job(HEAD + "run = orders.start()\nprint('ready', flush=True); time.sleep(60)")
    assert wait_for_line(child) == "ready"

    child.terminate()

    assert child.wait(PATIENT_SECONDS) == -signal.SIGTERM
    assert [event["event_type"] for event in events_in(outbox_dir)] == ["pipeline.declared", "run.started"]


def test_a_forked_child_sends_its_own_events_and_the_parent_the_parent_s(run_job: RunJob, outbox_dir: Path) -> None:
    done = run_job(
        HEAD
        + """
with orders.run() as run:
    pid = os.fork()
    if pid == 0:
        assert client.counters().emitted == 0
        run.add(inserts=7)
        lines = client.pipeline(Pipeline(name="lines"))
        with lines.run() as own:
            own.add(inserts=1)
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    run.add(inserts=1)
now = client.counters()
assert now.emitted == now.pending == 3, now
"""
    )

    events = events_in(outbox_dir)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert len({event["event_id"] for event in events}) == len(events) == 6
    ended = {event["pipeline"]: event for event in events if event["event_type"] == "run.ended"}
    assert ended["orders"]["inserts"] == 1
    assert ended["orders"]["producer"]["pid"] != ended["lines"]["producer"]["pid"]


def test_a_fork_while_another_thread_emits_does_not_hang(run_job: RunJob) -> None:
    done = run_job(
        HEAD
        + """
import threading
stop = threading.Event()
def emit():
    while not stop.is_set():
        client.emit({"event_type": "run.heartbeat", "pipeline": "p", "run_id": "x"})
threads = [threading.Thread(target=emit, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        with orders.run() as run:
            run.add(inserts=1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
"""
    )

    assert done.returncode == 0, done.stderr


def test_a_job_that_is_killed_keeps_nothing_from_the_next(start_job: Start, run_job: RunJob, outbox_dir: Path) -> None:
    child = start_job(HEAD + "with orders.run():\n    print('ready', flush=True); time.sleep(60)")
    assert wait_for_line(child) == "ready"
    os.kill(child.pid, signal.SIGKILL)
    child.wait(PATIENT_SECONDS)

    done = run_job(HEAD + "with orders.run(): pass")

    assert done.returncode == 0
    assert ends_in(outbox_dir)[-1] == ("succeeded", None)


@pytest.mark.parametrize("variables", [{"disabled": "1"}, {"transport": "console"}])
def test_switched_off_or_dry_nothing_is_sent_or_kept(
    run_job: RunJob, outbox_dir: Path, variables: dict[str, str]
) -> None:
    done = run_job(
        HEAD + "with orders.run(): pass\nassert 'asyncio' not in sys.modules and 'aiokafka' not in sys.modules",
        **variables,
    )

    assert done.returncode == 0, done.stderr
    assert not outbox_dir.exists()
    assert ("run.ended" in done.stderr) == ("transport" in variables)


def test_a_bad_disk_harms_nothing(run_job: RunJob, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    done = run_job(HEAD + "with orders.run(): pass\nprint('done')", outbox_dir=str(tmp_path / "file" / "outbox"))

    assert (done.returncode, done.stdout) == (0, "done\n")


def test_the_account_adds_up_at_the_end(run_job: RunJob) -> None:
    done = run_job(
        HEAD
        + """
for _ in range(50):
    with orders.run():
        pass
client.emit({"event_type": "run.ended"})
client.close()
now = client.counters()
assert (now.emitted, now.spooled, now.pending, now.dropped) == (102, 101, 0, {"unusable": 1}), now
"""
    )

    assert done.returncode == 0, done.stderr


def test_what_is_lost_is_said_at_the_exit_and_what_is_kept_only_to_those_who_ask(run_job: RunJob) -> None:
    level = "import logging; logging.basicConfig(level=logging.INFO)\n"
    loss = "client.emit({'event_type': 'run.ended'})\n"

    kept, asked, lost = (run_job(code) for code in (HEAD + RUN, level + HEAD + RUN, HEAD + RUN + loss))

    assert "at exit" not in kept.stderr
    assert "watchline at exit: emitted 3 = acknowledged 0 + on disk 3 + pending 0 + dropped 0" in asked.stderr
    assert "emitted 4 = acknowledged 0 + on disk 3 + pending 0 + dropped 1, unusable 1" in lost.stderr


def test_a_run_that_ends_at_exit_is_reported(run_job: RunJob, outbox_dir: Path) -> None:
    done = run_job(
        "import atexit\n"
        + HEAD
        + "run = orders.run().begin()\natexit.register(run.end)\n"
        + "class Late:\n    def __del__(self): pass\n"
    )

    assert (done.returncode, done.stdout) == (0, "")
    assert ends_in(outbox_dir) == [("succeeded", None)]
