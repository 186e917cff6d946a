"""How this program is called from a shell."""

from pathlib import Path

import pytest

from watchline.cli.program import choose_call

OWN = Path("/a project/.venv/bin/watchline")


def test_the_short_name_is_shown_where_the_path_leads_to_this_program() -> None:
    assert choose_call(str(OWN), OWN) == "watchline"


@pytest.mark.parametrize("found", [None, "/usr/bin/watchline"])
def test_a_program_outside_the_path_is_shown_so_that_a_shell_finds_it(found: str | None) -> None:
    assert choose_call(found, OWN) == "'/a project/.venv/bin/watchline'"
