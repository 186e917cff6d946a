"""The five source roots share one namespace, which an `__init__.py` in any of them would close."""

from __future__ import annotations

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("root", ["schemas", "sdk", "streams", "consumers", "cli"])
def test_no_source_root_closes_the_namespace(root: str) -> None:
    namespace = REPOSITORY / root / "watchline"

    assert namespace.is_dir()
    assert not (namespace / "__init__.py").exists()
    assert not (namespace.parent / "__init__.py").exists()
