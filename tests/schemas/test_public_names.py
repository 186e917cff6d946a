"""What `watchline.schemas` offers, and what an import of it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import watchline.schemas


@pytest.mark.parametrize("name", watchline.schemas.__all__)
def test_each_public_name_resolves(name: str) -> None:
    assert getattr(watchline.schemas, name) is not None


def test_the_table_of_modules_holds_exactly_the_public_names() -> None:
    assert set(watchline.schemas.MODULES) == set(watchline.schemas.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(watchline.schemas, "no_such_name")  # noqa: B009 - the attribute does not exist for mypy either


def test_building_and_encoding_an_event_loads_neither_decoder_nor_records_nor_tls() -> None:
    code = (
        "import sys; from watchline.schemas import RunHeartbeat, encode; "
        "print([name for name in sys.modules if name.startswith('watchline.schemas.')])"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert "watchline.schemas.events" in loaded
    for name in ("decoding", "records", "record_codec", "connection"):
        assert f"watchline.schemas.{name}'" not in loaded
