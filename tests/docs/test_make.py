"""What the targets of the Makefile run; nothing is made here."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import parse
from brokers.apache import REPOSITORY
from docs.blocks import block_with

MAKEFILE = (REPOSITORY / "Makefile").read_text()
RUNS = {
    "demo": ".venv/bin/watchline demo",
    "dev": ".venv/bin/watchline dev",
    "test": ".venv/bin/python -m pytest",
    "test-apache": "WATCHLINE_TEST_BROKER=apache .venv/bin/python -m pytest",
    "faults": f"WATCHLINE_TEST_BROKER={'apache' if shutil.which('mvn') else 'embedded'} .venv/bin/python -m pytest",
    "fuzz": "PYTHONPATH=tests .venv/bin/python -m fuzzing",
    "check": ".venv/bin/lint-imports",
    "format": ".venv/bin/ruff format",
    "bench": ".venv/bin/python -m bench",
    "up": "docker compose up --build --detach",
    "down": "docker compose down",
}


def make(*arguments: str) -> str:
    """What make prints; a make that runs this test does not pass its own options on."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    done = subprocess.run(
        ["make", *arguments], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("target", RUNS)
def test_a_target_runs_what_it_is_for(target: str) -> None:
    printed = make("--dry-run", target)

    assert RUNS[target] in [line.strip().removeprefix("@") for line in printed.splitlines()] or any(
        line.startswith(RUNS[target] + " ") for line in printed.splitlines()
    )


def test_a_python_that_is_too_old_is_refused_before_anything_is_installed(tmp_path: Path) -> None:
    old, venv = tmp_path / "python3.10", tmp_path / "venv"
    old.write_text("#!/bin/sh\nexit 1\n")  # what the question for its version ends with
    old.chmod(0o755)

    done = subprocess.run(
        ["sh", str(REPOSITORY / "scripts" / "setup.sh"), str(old), str(venv)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert f"needs Python 3.11 or newer, and {old} is not that" in done.stderr
    assert not venv.exists()


@pytest.mark.parametrize("command", block_with("docs/benchmarks.md", "make bench").commands)
def test_the_options_of_the_benchmarks_are_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, arguments = command.partition('ARGS="')
    monkeypatch.setattr(sys, "argv", ["bench", *shlex.split(arguments.rstrip('"'))])

    given = parse()

    assert len([value for value in vars(given).values() if value]) == len(arguments.split("--")[1:])


def test_make_alone_prints_every_target() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)

    printed = make()

    assert re.findall(r"^  make ([a-z-]+)", printed, re.MULTILINE) == phony.split()
