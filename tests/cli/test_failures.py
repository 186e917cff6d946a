import click
import pytest

from watchline.cli.failures import report_failure
from watchline.schemas.errors import Misconfigured, Unavailable


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Misconfigured("the topic is wrong", hint="create it"), 2),
        (Unavailable("the topic is wrong", hint="create it"), 1),
    ],
)
def test_an_error_on_purpose_is_one_line_and_a_hint(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    returned = report_failure(error, debug=False)

    shown = capsys.readouterr()
    assert returned == code
    assert shown.err == "error: the topic is wrong\nhint: create it\n"
    assert shown.out == ""


def test_a_missing_package_names_the_extra(capsys: pytest.CaptureFixture[str]) -> None:
    code = report_failure(ModuleNotFoundError("No module named 'faust'", name="faust"), debug=False)

    shown = capsys.readouterr().err
    assert code == 2
    assert "faust" in shown
    assert "pip install 'watchline[server]'" in shown


def test_a_defect_shows_no_traceback_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(*, debug: bool) -> str:
        report_failure(KeyError("x"), debug=debug)
        return capsys.readouterr().err

    assert shown(debug=False).startswith("error: KeyError: 'x'\nhint: this is a defect")
    assert shown(debug=True).startswith("KeyError: 'x'\nerror: KeyError")


def test_a_usage_error_keeps_its_own_code(capsys: pytest.CaptureFixture[str]) -> None:
    code = report_failure(click.UsageError("no such option"), debug=False)

    assert code == 2
    assert "no such option" in capsys.readouterr().err
