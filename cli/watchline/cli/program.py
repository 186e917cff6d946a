"""How this program is called from a shell."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def own_call() -> str:
    """`watchline` where the PATH leads to this program, else its path, ready to paste."""
    return choose_call(shutil.which("watchline"), Path(sys.executable).with_name("watchline"))


def choose_call(found: str | None, own: Path) -> str:
    """The short name when `found`, what the PATH leads to, is `own`; else `own`, quoted for a shell."""
    return "watchline" if found is not None and Path(found) == own else shlex.quote(str(own))
