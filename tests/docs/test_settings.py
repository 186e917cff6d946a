"""The tables of settings name every setting that exists, with its default, and no other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr
from pydantic_core import PydanticUndefined

from brokers.apache import REPOSITORY
from docs.blocks import documents, name_of
from watchline.consumers.notifier.settings import NotifierSettings
from watchline.consumers.retention.settings import RetentionSettings
from watchline.consumers.sink.settings import SinkSettings
from watchline.consumers.watch.settings import WatchSettings
from watchline.schemas.connection import KafkaConnection
from watchline.sdk.settings import Settings
from watchline.streams.settings import StreamsSettings

ROW = re.compile(r"^\| `(?P<name>WATCHLINE_\w+)` \| (?P<default>[^|]*?) ?\|(?P<rest>.*)$", re.MULTILINE)
TABLE = re.compile(r"^\| variable \|.*\n(?:\|.*\n)+", re.MULTILINE)
UNITS = {"KiB": 1024, "MiB": 1024**2}

# Read where no settings class is: by the commands themselves, by `watchline exec` for its child, by the tests.
ELSEWHERE: dict[str, Any] = {"WATCHLINE_LOG_LEVEL": "INFO", "WATCHLINE_READY_FILE": None}
UNLISTED = {
    "WATCHLINE_FAILPOINT": "schemas/watchline/schemas/failpoints.py",
    "WATCHLINE_DEBUG": "cli/watchline/cli/main.py",
    "WATCHLINE_RUN_ID": "sdk/watchline/sdk/shell.py",
    "WATCHLINE_TEST_BROKER": "tests/conftest.py",
    "WATCHLINE_TEST_POSTGRES": "tests/conftest.py",
    "WATCHLINE_CACHE_DIR": "tests/conftest.py",
}


def of_model(model: type[BaseModel], prefix: str = "WATCHLINE_") -> dict[str, Any]:
    """Variable and default of every field; the Kafka connection has variables of its own."""
    named = {name: field for name, field in model.model_fields.items() if name != "kafka"}
    return {
        prefix + name.upper(): None if field.default is PydanticUndefined else field.default
        for name, field in named.items()
    }


KAFKA = of_model(KafkaConnection, "WATCHLINE_KAFKA_")
STREAMS = of_model(StreamsSettings)
SINK = of_model(SinkSettings) | of_model(RetentionSettings)
NOTIFY = of_model(NotifierSettings) | of_model(WatchSettings)
JOBS = {f"WATCHLINE_{field.name.upper()}": field.default for field in fields(Settings) if field.name != "connection"}
READERS = {"streams": STREAMS | KAFKA, "sink": SINK | KAFKA, "notify": NOTIFY, "jobs": JOBS | KAFKA}
FILES = {f"{name}_FILE" for name in [*KAFKA, "WATCHLINE_POSTGRES_DSN"]} | {
    f"WATCHLINE_{s.upper()}_FILE" for s in (*NotifierSettings.secrets(), *WatchSettings.secrets())
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table of settings; `readers` is empty where the table has no such column."""

    name: str
    default: str
    readers: frozenset[str]


def rows_of(document: str) -> list[Row]:
    """The rows of the tables of settings in a document."""
    text = (REPOSITORY / document).read_text()
    found = []
    for table in TABLE.findall(text):
        has_readers = "read by" in table.split("\n", 1)[0]
        for row in ROW.finditer(table):
            readers = row["rest"].split("|")[0].strip() if has_readers else ""
            found.append(Row(row["name"], row["default"].strip(" `"), frozenset(filter(None, readers.split(", ")))))
        assert table.count("\n") - 2 == len(ROW.findall(table)), (
            f"{document}: a row names more or less than one variable"
        )
    return found


def is_shown(default: Any, text: str) -> bool:
    """Whether `text` says what `default` is."""
    if default is None or isinstance(default, SecretStr):
        return text == "" or not any(character.isdigit() for character in text)
    if isinstance(default, bool):
        return text == str(int(default))
    if isinstance(default, int | float):
        number, _, unit = text.replace(",", "").partition(" ")
        return number.replace(".", "").isdigit() and float(number) * UNITS.get(unit, 1) == default
    return text == (",".join(default) if isinstance(default, tuple) else str(default))


@pytest.mark.parametrize(
    ("document", "settings"),
    [
        ("docs/production.md", STREAMS | SINK | KAFKA | ELSEWHERE),
        ("docs/alerts.md", NOTIFY),
        ("docs/sdk.md", JOBS | {"WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9092"}),
    ],
)
def test_every_setting_has_a_row(document: str, settings: Mapping[str, Any]) -> None:
    assert set(settings) - {row.name for row in rows_of(document)} == set()


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_every_row_names_a_setting_with_its_default_and_its_readers(document: Path) -> None:
    for row in rows_of(name_of(document)):
        reading = {reader: known for reader, known in READERS.items() if row.name in known}
        named = reading if not row.readers or row.readers == {"all"} else row.readers & set(READERS)
        defaults = [reading[reader][row.name] for reader in named if reader in reading] or [ELSEWHERE[row.name]]

        assert row.name in ELSEWHERE or set(named) <= set(reading), f"{row.name} is not read by {set(named)}"
        assert all(is_shown(default, row.default) for default in defaults), f"{row}: {defaults}"


def test_the_table_of_the_services_names_each_reader() -> None:
    told: dict[str, set[str]] = {}
    for row in rows_of("docs/production.md"):
        told.setdefault(row.name, set()).update(READERS if row.readers == {"all"} else row.readers)

    for name, readers in told.items():
        reading = {reader for reader, known in READERS.items() if name in known}
        assert name in ELSEWHERE or reading == readers & set(READERS), name


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_every_variable_that_is_mentioned_exists(document: Path) -> None:
    known = set().union(*READERS.values(), ELSEWHERE, UNLISTED, FILES)

    mentioned = set(re.findall(r"WATCHLINE_[A-Z_]*[A-Z](?![A-Z_*])", document.read_text()))

    assert mentioned - known == set()


@pytest.mark.parametrize(("variable", "path"), UNLISTED.items())
def test_a_variable_outside_the_settings_is_read_where_we_say(variable: str, path: str) -> None:
    assert variable in (REPOSITORY / path).read_text()
