"""What `postmaster.pid` in a data directory says, and whether it is still true."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from watchline.schemas.errors import Unavailable

STATUS_LINE = 7
LEAVING_SECONDS = 10.0
POLL_SECONDS = 0.05


def is_ready(data: Path, pid: int) -> bool:
    """Whether the server `pid` of this data directory accepts connections."""
    lines = _lines(data)
    return len(lines) > STATUS_LINE and lines[0].strip() == str(pid) and lines[STATUS_LINE].strip() == "ready"


def refuse_a_second_server(data: Path) -> None:
    """Raise `Unavailable` if a server still runs in `data` after a short wait.

    A file whose pid now belongs to another program is removed: Postgres would take it at its word, and in
    containers, where pids are few, that happens. A file whose pid nobody has is left to Postgres, which looks
    whether the dead server's children are gone, too.
    """
    deadline = time.monotonic() + LEAVING_SECONDS  # one whose parent was killed is just closing its files
    while (pid := running_server(data)) is not None:
        if time.monotonic() > deadline:
            raise Unavailable(
                f"a server (pid {pid}) is already running in {data}",
                hint=f"stop the other `watchline dev`, or end what it left behind: kill -INT {pid}",
            )
        time.sleep(POLL_SECONDS)
    pid = recorded_pid(data)
    if pid is not None and command_of(pid):
        (data / "postmaster.pid").unlink()


def running_server(data: Path) -> int | None:
    """The pid of the Postgres that runs in `data`, if one does."""
    pid = recorded_pid(data)
    command = "" if pid is None else command_of(pid)
    return pid if "postgres" in command and str(data) in command else None


def recorded_pid(data: Path) -> int | None:
    """The pid that the file names."""
    lines = _lines(data)
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None


def command_of(pid: int) -> str:
    """The command line of a process, empty when there is none."""
    try:
        if Path("/proc/self").exists():
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        shown = ["/bin/ps", "-o", "args=", "-p", str(pid)]
        return subprocess.run(shown, capture_output=True, text=True, check=False).stdout  # noqa: S603 - fixed program
    except OSError:  # it ended between the two looks
        return ""


def _lines(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text().splitlines()
    except OSError:  # no file: no server
        return []
