"""The committed JSON Schema files say what the models say, and break nothing that was released."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from watchline.schemas import breaking_changes
from watchline.schemas.decoding.fields import MODELS
from watchline.schemas.publish import FOLDER, published, render, write

RELEASED = Path(__file__).parent / "data/released"


def test_the_committed_files_are_those_of_the_models() -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}

    assert committed == {name: render(schema) for name, schema in published().items()}, (
        "run python -m watchline.schemas.publish"
    )


def test_every_event_type_has_a_file() -> None:
    assert {f"{event_type}.json" for event_type in MODELS} <= set(published())


def test_what_stays_inside_is_not_published() -> None:
    text = "".join(render(schema) for schema in published().values() if "event_type" in schema["properties"])

    assert '"flags"' not in text
    assert '"reported_status"' not in text


@pytest.mark.parametrize("path", sorted(RELEASED.glob("*.json")), ids=lambda path: path.name)
def test_nothing_released_is_broken(path: Path) -> None:
    released = json.loads(path.read_text(encoding="utf-8"))

    assert path.name in published(), "a released event or record was removed"
    assert breaking_changes(released, published()[path.name]) == []


def test_the_baseline_is_not_empty() -> None:
    assert len(list(RELEASED.glob("*.json"))) == 12


def test_writing_removes_the_schema_of_a_model_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "run.paused.json").write_text("{}")

    write(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == set(published())
