"""The two lives of a job, with the SDK and without, and what can be seen of each from outside."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
JOBS = Path(__file__).with_name("jobs")
# A life that lasts longer hangs; far above what any takes on a busy machine, so that it is never the machine.
HANGING_SECONDS = 120.0
PLACE_IN_MEMORY = re.compile(r" at 0x[0-9a-f]+")
ACCOUNT = re.compile(r"emitted (\d+) = acknowledged (\d+) \+ on disk (\d+) \+ pending (\d+) \+ dropped (\d+)(.*)")


@dataclass(frozen=True, slots=True)
class Account:
    """What one process said at its exit of all its events."""

    emitted: int
    acknowledged: int
    spooled: int
    pending: int
    dropped: int
    reasons: dict[str, int]

    @property
    def adds_up(self) -> bool:
        return self.emitted == self.acknowledged + self.spooled + self.pending + self.dropped


@dataclass(frozen=True, slots=True)
class Life:
    """`seconds` in all and `leaving_seconds` after its last line on stdout; `said` is what our logger said."""

    code: int
    out: str
    err: str
    seconds: float
    leaving_seconds: float
    peak_kib: int
    said: list[str]

    @property
    def seen(self) -> tuple[int, str, str]:
        """Exit code, stdout, and stderr without what our logger said."""
        err = self.err
        for text in self.said:
            err = err.replace(f"{text}\n", "", 1)
        return self.code, self.out, PLACE_IN_MEMORY.sub("", err)

    @property
    def accounts(self) -> list[Account]:
        """One for each process that came to its exit."""
        found = [match for text in self.said if (match := ACCOUNT.search(text))]
        return [read_account(match) for match in found]


def read_account(match: re.Match[str]) -> Account:
    """The account in a line of the log."""
    emitted, acknowledged, spooled, pending, dropped = map(int, match.groups()[:5])
    return Account(emitted, acknowledged, spooled, pending, dropped, read_reasons(match[6]))


def read_reasons(text: str) -> dict[str, int]:
    """`, buffer_full 3, rejected 1` as a mapping."""
    return {name: int(count) for name, count in re.findall(r", (\w+) (\d+)", text)}


def live(
    job: str,
    folder: Path,
    settings: Mapping[str, str] | None,
    *,
    arguments: Sequence[str] = (),
    within: Sequence[str] = (),
    hanging: float = HANGING_SECONDS,
    at_pause: Callable[[], None] = lambda: None,
) -> Life:
    """One life of a job in a new `folder`, by the SDK with `settings` or (None) without it.

    `within` is a command that runs the rest of its line; a life of `hanging` seconds is ended and fails; `at_pause` is
    called when the job pauses.
    """
    folder.mkdir()
    command = [*within, sys.executable, str(JOBS / f"{job}.py"), *arguments]
    with (folder / "stderr").open("w") as err:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            env=environment(folder, settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
        )
        out, last = attend(process, at_pause, hanging)
    ended = time.monotonic()
    return Life(
        code=process.returncode,
        out=out,
        err=(folder / "stderr").read_text(),
        seconds=ended - began,
        leaving_seconds=ended - last,
        peak_kib=max(read_lines(folder / "peaks.jsonl"), default=0),
        said=[line["text"] for line in read_lines(folder / "said.jsonl")],
    )


def environment(folder: Path, settings: Mapping[str, str] | None) -> dict[str, str]:
    """What a life sees; with warnings as errors, so that none of ours goes unseen."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WATCHLINE_")}
    common = kept | {"HARM_FOLDER": str(folder), "PYTHONPATH": str(TESTS), "PYTHONWARNINGS": "error"}
    common["PYTHONUNBUFFERED"] = "1"  # so that the last line comes before the exit
    return common | ({"HARM_BARE": "1"} if settings is None else dict(settings))


def attend(process: subprocess.Popen[str], at_pause: Callable[[], None], hanging: float) -> tuple[str, float]:
    """Read what a job prints until it has ended; its stdout, and when its last line came."""
    assert process.stdin is not None
    assert process.stdout is not None
    ending = threading.Timer(hanging, process.kill)
    ending.start()
    lines, last = [], time.monotonic()
    for line in process.stdout:
        lines.append(line)
        last = time.monotonic()
        if line == "paused\n":
            at_pause()
            process.stdin.write("\n")
            process.stdin.flush()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert ending.is_alive(), f"the job hung after {lines[-3:]}"
    ending.cancel()
    return "".join(lines), last


def read_lines(path: Path) -> list[Any]:
    """The facts that a life wrote down."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
