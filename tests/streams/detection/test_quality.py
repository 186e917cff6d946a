"""The benchmark: the same corpora for ever, and a detector that does not get worse on them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
DIGEST = """
import hashlib, json
from dataclasses import astuple
from bench.detection import pipebench, realbench
for corpus in (pipebench.make_corpus(201), realbench.make_corpus(11)):
    print(hashlib.sha256(json.dumps([astuple(history) for history in corpus]).encode()).hexdigest()[:16])
"""


def python(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, *arguments], cwd=REPOSITORY, capture_output=True, check=True, text=True
    ).stdout


def test_the_corpora_are_the_ones_that_figures_were_published_for() -> None:
    assert python("-c", DIGEST).split() == ["bdc2ea55f39efa19", "c6cc4febbf6d01a4"]


def test_the_detector_is_as_good_as_published() -> None:
    figures = json.loads(python("-m", "bench.detection", "--synthetic", "101,102", "--real", "1", "--json"))

    assert figures["pipebench"]["f1"] == pytest.approx(0.773, abs=0.01)
    assert figures["pipebench"]["false_per_30d"] <= 0.05
    assert figures["realbench"]["f1"] == pytest.approx(0.852, abs=0.01)
    assert figures["realbench"]["false_per_30d"] <= 0.27
