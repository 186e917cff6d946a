import subprocess
import sys

import click
import pytest

from watchline.cli.commands import ENTRIES
from watchline.cli.main import run


def test_the_overview_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["--help"])

    shown = capsys.readouterr().out
    assert code == 0
    for name, entry in ENTRIES.items():
        assert f"  {name} " in shown
        assert entry.summary in shown


@pytest.mark.parametrize("name", list(ENTRIES))
def test_the_help_of_a_command_says_what_it_reads_and_shows_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run([name, "--help"])

    shown = capsys.readouterr().out
    assert code == 0
    assert "WATCHLINE_" in shown or name == "emit"
    assert "xample" in shown or isinstance(ENTRIES[name].load(), click.Group)
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["exec", "--help"]])
def test_a_light_call_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from watchline.cli.main import run; run(sys.argv[1:]);"
        "print(sorted({'faust', 'asyncpg', 'sqlalchemy', 'rich', 'structlog', 'httpx'} & sys.modules.keys()))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "watchline.cli", "--version"], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.startswith("watchline ")


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["nope"])

    assert code == 2
    assert "No such command 'nope'" in capsys.readouterr().err
