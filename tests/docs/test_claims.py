"""What the documents say in passing: commands, options, files, packages, and what an alert looks like."""

from __future__ import annotations

import io
import re
import tomllib
from pathlib import Path
from uuid import UUID

import click
import pytest

from brokers.apache import REPOSITORY
from docs.blocks import block_with, documents, name_of, prose_of
from slack.incidents import after, incident, message, resolved
from watchline.cli.main import cli
from watchline.consumers.notifier import NotifierSettings
from watchline.consumers.notifier.routing import Traits, destination_of
from watchline.consumers.notifier.terminal import AlertConsole, TerminalChannel
from watchline.schemas import Topics

CODE = re.compile(r"`([^`\n]+)`")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
FOLDERS = "schemas|sdk|streams|consumers|cli|migrations|tests|bench|docs|scripts|.ci"
README_LINES = 90
DAY_MS = 86_400_000


def codes_of(document: Path) -> list[str]:
    """What stands in backticks in the text."""
    return CODE.findall(prose_of(document.read_text()))


def unknown_in(words: list[str]) -> list[str]:
    """The commands and options among the words that do not exist; words in capitals stand for others."""
    command: click.Command = cli
    unknown = []
    for word in words:
        name = word.partition("=")[0]
        if word.startswith("--"):
            unknown += [name] if name not in options_of(command) else []
        elif isinstance(command, click.Group) and not word.isupper():
            found = command.get_command(click.Context(command), word)
            command, unknown = (found, unknown) if found else (command, [*unknown, word])
    return unknown


def options_of(command: click.Command) -> set[str]:
    """Every option that a command knows, `--help` too."""
    return {name for parameter in command.get_params(click.Context(command)) for name in parameter.opts}


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_every_command_that_is_mentioned_exists_with_its_options(document: Path) -> None:
    mentioned = [code for code in codes_of(document) if code.startswith("watchline ")]

    wrong = {code: unknown for code in mentioned if (unknown := unknown_in(code.partition(" -- ")[0].split()[1:]))}

    assert wrong == {}


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_every_target_that_is_mentioned_exists(document: Path) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()

    for target in re.findall(r"`make ([a-z-]+)", document.read_text()):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{name_of(document)}: make {target}"


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_every_path_that_is_mentioned_exists(document: Path) -> None:
    paths = [code for code in codes_of(document) if re.fullmatch(rf"({FOLDERS})/[\w./-]*", code)]

    assert [path for path in paths if not (REPOSITORY / path).exists()] == []


def test_what_is_installed_by_name_is_declared() -> None:
    text = "".join(document.read_text() for document in documents())
    installed = re.findall(r"pip install (?:--upgrade )?'?([a-z]+)(?:\[([a-z,]+)\])?", text)

    assert installed
    assert {name for name, _ in installed} == {PROJECT["name"]}
    assert {extra for _, extras in installed for extra in extras.split(",") if extra} <= set(
        PROJECT["optional-dependencies"]
    )


def test_the_table_of_topics_says_how_long_each_is_kept() -> None:
    text = (REPOSITORY / "docs" / "production.md").read_text()
    kept = {
        name: line.rsplit("|", 2)[1]
        for line in re.findall(r"^\| `watchline[.-].*\|$", text, re.MULTILINE)
        for name in CODE.findall(line.split("|")[1])
    }

    for spec in Topics().specs():
        said = kept.get(spec.name) or kept["watchline-streams-*-changelog"]
        days = int(spec.config.get("retention.ms", "0")) // DAY_MS
        assert (f"{days} days" if days else "compacted") in said, spec.name
    assert set(kept) - {spec.name for spec in Topics().specs()} == {"watchline-streams-*-changelog"}


def test_the_readme_is_short_and_begins_with_the_two_commands() -> None:
    text = (REPOSITORY / "README.md").read_text()

    first = block_with("README.md", "make demo")

    assert first.commands == ["make demo", "make test"]
    assert text.index("```bash") == text.index("```")
    assert len(text.splitlines()) <= README_LINES


async def test_the_sample_of_an_alert_is_what_the_notifier_says() -> None:
    opened = incident(severity="warn", incident_id=UUID("3e954c53-0000-4000-8000-000000000001"))
    output = io.StringIO()
    channel = TerminalChannel(AlertConsole(file=output, width=80))

    await channel.send(message(opened))
    await channel.send(message(resolved(opened, after(hours=3))))

    printed = "\n".join(line.rstrip() for line in output.getvalue().splitlines())
    assert block_with("docs/alerts.md", "WARN orders_daily").text.rstrip() == printed


def test_the_routes_of_the_guide_lead_where_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", "postgresql://me@127.0.0.1/watchline")
    monkeypatch.setenv("WATCHLINE_SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.setenv("WATCHLINE_SLACK_CHANNEL", "C0000DATA")
    monkeypatch.setenv("WATCHLINE_SLACK_ROUTES", block_with("docs/alerts.md", "[").text)

    rules = NotifierSettings.from_environment().rules

    sales = Traits("orders", "sales", None, "failure", "fail")
    assert destination_of(sales, rules, "C0000DATA") == "C0123SALES"
    assert destination_of(sales._replace(severity="warn"), rules, "C0000DATA") == "C0000DATA"
    assert destination_of(sales._replace(pipeline="stock_daily", owner=None), rules, "C0000DATA") == "stock-team"
