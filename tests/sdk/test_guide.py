"""Every Python snippet of the guide runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "sdk.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.mark.parametrize("code", SNIPPETS)
def test_a_snippet_of_the_guide_runs(run_job: Callable[..., Any], code: str) -> None:
    done = run_job(code, transport="console")

    assert done.returncode == 0, done.stderr
    assert "the job goes on" not in done.stderr
