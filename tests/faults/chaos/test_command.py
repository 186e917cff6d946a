"""What is played for a command line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from brokers.apache import REPOSITORY
from docs.blocks import block_with
from faults.chaos.__main__ import make_plan, parse

OF_MAKE = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARGS"}  # this test may itself be run by make
COMMANDS = [one for one in block_with("docs/guarantees.md", "make faults MINUTES").commands if "MINUTES" in one]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_guide_is_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = ["make", "--dry-run", *shlex.split(command)[1:]]
    mine = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    printed = subprocess.run(make, cwd=REPOSITORY, env=mine, capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in printed.splitlines() if "faults.chaos" in line)
    monkeypatch.setattr(sys, "argv", shlex.split(line)[3:])

    plan = make_plan(parse())

    wanted = dict(word.split("=") for word in shlex.split(command)[2:])
    assert (plan.minutes, plan.seed) == (float(wanted["MINUTES"]), int(wanted["SEED"]))
    assert len(plan.faults) >= 10 * plan.minutes


def test_without_apache_kafka_fewer_kinds_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["chaos", "--broker", "embedded"])

    plan = make_plan(parse())

    assert not plan.apache
    assert not {fault.kind for fault in plan.faults} & {"worker killed", "broker killed", "changelog blocked"}


def test_only_some_kinds_are_played_when_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["chaos", "--broker", "embedded", "--only", "sink killed,poison"])

    assert {fault.kind for fault in make_plan(parse()).faults} == {"sink killed", "poison"}
