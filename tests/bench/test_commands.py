"""`python -m bench` and its parts can be called and say how."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.parts import PARTS

ROOT = Path(__file__).parents[2]
MODULES = [f"bench.{part.name}" for part in PARTS]


def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120
    )


def test_bench_explains_itself() -> None:
    done = ask("bench", "--help")

    assert done.returncode == 0, done.stderr
    assert "--only" in done.stdout
    assert all(part.name in done.stdout for part in PARTS)


@pytest.mark.parametrize("module", MODULES)
def test_every_part_can_be_called_by_itself(module: str) -> None:
    done = ask(module, "--help")

    assert done.returncode == 0, done.stderr
    assert "--json" in done.stdout


def test_a_part_that_cannot_be_measured_makes_the_report_fail_and_is_named() -> None:
    done = ask("bench", "--only", "restart", "--quick")

    assert done.returncode == 1
    assert "restart could not be measured" in done.stdout
    assert "--broker" in done.stderr
