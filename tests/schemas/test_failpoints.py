"""Failpoints: off by default, exact when set, and loud about a name that does not exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchline.schemas import failpoints
from watchline.schemas.errors import Misconfigured
from watchline.schemas.failpoints import NAMES, Planted, read_failpoints

REPOSITORY = Path(__file__).parents[2]
LOOP = "from watchline.schemas.failpoints import failpoint\nfor _ in range(5): print('alive'); failpoint('P3')"


def test_without_the_variable_nothing_is_counted_or_looked_up() -> None:
    assert failpoints.failpoint is failpoints.pass_by


def test_a_process_kills_itself_at_the_pass_that_was_asked_for() -> None:
    died = subprocess.run(
        [sys.executable, "-u", "-c", LOOP], env={**os.environ, "WATCHLINE_FAILPOINT": "S1:kill:1,P3:kill:3"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert died.returncode == -9
    assert died.stdout == "alive\n" * 3


def test_it_raises_at_that_pass_only_and_at_that_point_only() -> None:
    reach = read_failpoints("F3:raise:2")

    reach("F3")
    reach("F4")
    with pytest.raises(Planted, match="F3, pass 2"):
        reach("F3")
    reach("F3")


def test_it_stalls_at_every_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    reach = read_failpoints("N2:sleep:0.25")

    reach("N2")
    reach("N2")

    assert slept == [0.25, 0.25]


@pytest.mark.parametrize(
    "text", ["P9:kill:1", "P3", "P3:kill", "P3:explode:1", "P3:kill:soon", "p3:kill:1", "P3:kill:1,"]
)
def test_what_is_no_failpoint_is_refused(text: str) -> None:
    with pytest.raises(Misconfigured, match="WATCHLINE_FAILPOINT"):
        read_failpoints(text)


def test_every_point_is_explained() -> None:
    explained = re.findall(r"\b([SFPDNMR]\d)\b", (failpoints.__doc__ or "").partition("at stake")[2])

    assert sorted(explained) == sorted(NAMES)


def test_a_job_goes_on_when_the_variable_makes_no_sense() -> None:
    code = "import watchline.sdk.kafka; print('job done')"
    environment = {**os.environ, "WATCHLINE_FAILPOINT": "nonsense"}

    job = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)

    assert (job.returncode, job.stdout) == (0, "job done\n")
    assert "it is ignored" in job.stderr


def test_a_service_refuses_to_start_with_it() -> None:
    environment = {**os.environ, "WATCHLINE_FAILPOINT": "nonsense"}

    service = subprocess.run(
        [sys.executable, "-m", "watchline.cli", "streams"], env=environment, capture_output=True, text=True, check=False
    )

    assert service.returncode == 2
    assert "which is no failpoint" in service.stderr
