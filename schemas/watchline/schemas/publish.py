"""The JSON Schema files of the contract, written by `python -m watchline.schemas.publish`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from watchline.schemas.events import Event
from watchline.schemas.records import SinkRecord

FOLDER = Path(__file__).parent / "json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
EVENTS: tuple[type[BaseModel], ...] = get_args(Event)
RECORDS: tuple[type[BaseModel], ...] = get_args(SinkRecord)


def published() -> dict[str, dict[str, Any]]:
    """Each file's name and schema: `run.ended.json` for an event, `record.run.json` for a record of the sink."""
    events = {f"{tag(model, 'event_type')}.json": schema_of(model, "event_type") for model in EVENTS}
    records = {f"record.{tag(model, 'record_type')}.json": schema_of(model, "record_type") for model in RECORDS}
    return events | records


def tag(model: type[BaseModel], field: str) -> str:
    """The value by which a model is told from the others."""
    return str(model.model_fields[field].default)


def schema_of(model: type[BaseModel], discriminator: str) -> dict[str, Any]:
    """What travels: the model's schema without the fields that stay inside, its discriminator required."""
    schema = model.model_json_schema()
    parts = {model.__name__: schema} | schema.get("$defs", {})
    for event in EVENTS:
        if event.__name__ in parts:
            hide_fields(event, parts[event.__name__])
    schema["required"] = sorted({*schema.get("required", ()), discriminator})
    return {"$schema": DIALECT, **schema}


def hide_fields(model: type[BaseModel], schema: dict[str, Any]) -> None:
    """Remove from a model's schema what is never written."""
    for name, field in model.model_fields.items():
        if field.exclude:
            del schema["properties"][name]


def render(schema: dict[str, Any]) -> str:
    """A schema as it is committed."""
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Write all schemas into `folder` and remove those of models that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    schemas = published()
    for name, schema in schemas.items():
        (folder / name).write_text(render(schema), encoding="utf-8")
    for path in folder.glob("*.json"):
        if path.name not in schemas:
            path.unlink()


if __name__ == "__main__":
    write(FOLDER)
