"""`watchline exec` and `watchline emit`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from brokers.kinds import Broker
from watchline.schemas import Topics
from watchline.sdk.outbox import Outbox
from watchline.sdk.shell import judge_command

WATCHLINE = [sys.executable, "-m", "watchline.cli"]
PATIENT_SECONDS = 30.0


def execute(environment: dict[str, str], *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [*WATCHLINE, *arguments]
    return subprocess.run(
        command, env=environment, input=stdin, text=True, capture_output=True, timeout=60, check=False
    )


def reported(outbox_dir: Path) -> list[dict[str, Any]]:
    outbox = Outbox(outbox_dir / "watchline", max_bytes=1 << 20)
    with outbox.claim() as segment:
        return [json.loads(item.value) for item in segment.messages] if segment else []


@pytest.fixture
def environment(job_environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in job_environment.items() if name != "PYTHONWARNINGS"}


@pytest.mark.parametrize(
    ("script", "code", "status", "error"),
    [
        ("exit 0", 0, "succeeded", None),
        ("exit 7", 7, "failed", "exit code 7"),
        ("kill -9 $$", 137, "failed", "killed by SIGKILL"),
        ("kill -15 $$", 143, "aborted", "killed by SIGTERM"),
    ],
)
def test_a_command_keeps_its_exit_code_and_is_reported(
    environment: dict[str, str], outbox_dir: Path, script: str, code: int, status: str, error: str | None
) -> None:
    done = execute(
        environment, "exec", "--pipeline", "nightly", "--owner", "ops", "--label", "a=b", "--", "sh", "-c", script
    )

    declared, started, ended = reported(outbox_dir)
    assert done.returncode == code
    assert (declared["pipeline"], declared["owner"]) == ("nightly", "ops")
    assert started["labels"] == {"a": "b"}
    assert (ended["status"], ended.get("error", {}).get("message")) == (status, error)


def test_a_command_keeps_its_streams_and_learns_its_run(environment: dict[str, str], outbox_dir: Path) -> None:
    script = "cat; echo $WATCHLINE_RUN_ID; echo oops >&2"

    done = execute(environment, "exec", "--pipeline", "nightly", "--", "sh", "-c", script, stdin="hello\n")

    run_id = reported(outbox_dir)[-1]["run_id"]
    assert done.stdout == f"hello\n{run_id}\n"
    assert "oops\n" in done.stderr


def test_options_of_the_command_are_its_own(environment: dict[str, str]) -> None:
    done = execute(environment, "exec", "--pipeline", "nightly", "echo", "--pipeline", "-n", "--help")

    assert (done.returncode, done.stdout) == (0, "--pipeline -n --help\n")


@pytest.mark.parametrize(("command", "code"), [("/no/such/command", 127), ("/", 126)])
def test_a_command_that_can_not_be_run_fails_as_in_a_shell(
    environment: dict[str, str], outbox_dir: Path, command: str, code: int
) -> None:
    done = execute(environment, "exec", "--pipeline", "nightly", "--", command)

    assert done.returncode == code
    assert reported(outbox_dir)[-1]["status"] == "failed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_command(environment: dict[str, str], outbox_dir: Path, number: signal.Signals) -> None:
    script = f"""
import signal, sys, time
signal.signal({int(number)}, lambda *_: sys.exit(5))
print("ready", flush=True)
time.sleep(60)
"""
    child = subprocess.Popen(
        [*WATCHLINE, "exec", "--pipeline", "nightly", "--", sys.executable, "-c", script],
        env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"

    child.send_signal(number)

    child.communicate(timeout=PATIENT_SECONDS)
    assert child.returncode == 5
    assert reported(outbox_dir)[-1]["status"] == "aborted"


def test_what_a_nested_job_reports_is_a_child(environment: dict[str, str], outbox_dir: Path) -> None:
    inner = "from watchline.sdk import *\nwith Watchline().pipeline(Pipeline(name='inner')).run(): pass"

    execute(environment, "exec", "--pipeline", "outer", "--", sys.executable, "-c", inner)

    outbox = Outbox(outbox_dir / "watchline", max_bytes=1 << 20)
    events = []
    while not outbox.is_empty():
        with outbox.claim() as segment:
            assert segment is not None
            events += [json.loads(item.value) for item in segment.messages]
            segment.delete()
    starts = {event["pipeline"]: event for event in events if event["event_type"] == "run.started"}
    assert starts["inner"]["parent_run_id"] == starts["outer"]["run_id"]


@pytest.mark.parametrize(
    ("code", "interrupted", "status"),
    [(0, 15, "succeeded"), (1, 15, "aborted"), (-9, 15, "aborted"), (-11, None, "failed"), (-2, None, "aborted")],
)
def test_the_status_of_a_command_is_that_of_its_end(code: int, interrupted: int | None, status: str) -> None:
    assert judge_command(code, interrupted=interrupted)[0] == status


@pytest.fixture
def online(environment: dict[str, str], broker: Broker, topics: Topics) -> dict[str, str]:
    return environment | {
        "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "WATCHLINE_TOPIC_PREFIX": topics.prefix,
    }


async def test_an_event_is_sent_and_acknowledged(online: dict[str, str]) -> None:
    started = execute(online, "emit", "run.started", "--pipeline", "orders")
    run_id = started.stdout.strip()
    ended = execute(
        online, "emit", "run.ended", "--pipeline", "orders", "--run-id", run_id, "--status", "succeeded",
        "--inserts", "5", "--metric", "nulls=0.5", "--field", 'metadata={"a": 1}',
    )  # fmt: skip

    assert (started.returncode, started.stderr) == (0, "")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, started.stdout, "")


async def test_an_event_may_come_from_stdin(online: dict[str, str]) -> None:
    event = {"event_type": "watermark.advanced", "pipeline": "orders", "watermark": "x"}

    done = execute(online, "emit", "-", stdin=json.dumps(event))

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        (["run.started", "--pipeline", " x"], "", "invalid_pipeline"),
        (["run.started"], "", "needs an event_type and a pipeline"),
        (["run.finished", "--pipeline", "x"], "", "unknown_event_type"),
        (["-"], "{", "no JSON"),
        (["-"], "[]", "no object"),
        (["run.started", "--pipeline", "x", "--timeout", "2"], "", "127.0.0.1:1"),
    ],
)
def test_what_is_not_delivered_is_one_clear_line_and_a_code(
    environment: dict[str, str], arguments: list[str], stdin: str, says: str
) -> None:
    done = execute(environment, "emit", *arguments, stdin=stdin)

    assert done.returncode != 0
    assert done.stdout == ""
    errors = [line for line in done.stderr.splitlines() if not line.startswith("hint: ")]
    assert len(errors) == 1
    assert says in errors[0]


def test_nothing_of_ours_stays_in_the_environment(environment: dict[str, str]) -> None:
    done = execute(environment, "exec", "--pipeline", "p", "--", "env")

    ours = {line.split("=")[0] for line in done.stdout.splitlines()} - set(environment)
    assert "WATCHLINE_RUN_ID" in ours
    assert ours <= {"WATCHLINE_RUN_ID", "LINES", "COLUMNS", "_"} | set(os.environ)
