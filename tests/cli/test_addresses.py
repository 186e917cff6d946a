import socket
from collections.abc import Iterator

import pytest

from watchline.cli.main import run
from watchline.cli.reach import describe_dsn


@pytest.fixture
def refused() -> str:
    """An address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("command", ["streams", "topics create", "topics check"])
@pytest.mark.parametrize("address", ["refused", "silent"])
def test_a_wrong_kafka_address_is_named(
    command: str,
    address: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = request.getfixturevalue(address)
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", place)

    code = run(command.split())

    shown = capsys.readouterr().err
    assert code == 1
    assert shown.startswith(f"error: Kafka does not answer at {place}\nhint: check WATCHLINE_KAFKA_BOOTSTRAP_SERVERS")
    assert len(shown.splitlines()) == 2


@pytest.mark.parametrize("command", ["migrate", "notify"])
@pytest.mark.parametrize("address", ["refused", "silent"])
def test_a_wrong_postgres_address_is_named_without_the_password(
    command: str,
    address: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = request.getfixturevalue(address)
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", f"postgresql://somebody:s3cret@{place}/watchline")

    code = run([command])

    shown = capsys.readouterr().err
    assert code == 1
    assert shown.startswith(f"error: Postgres does not answer at {place}/watchline")
    assert "WATCHLINE_POSTGRES_DSN" in shown
    assert "s3cret" not in shown
    assert len(shown.splitlines()) == 2


def test_a_wrong_password_is_a_matter_of_settings(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    head, _, tail = database.partition("://")
    place = tail.rpartition("@")[2]
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", f"{head}://nobody-we-know:wrong@{place}")

    code = run(["migrate"])

    assert code == 2
    assert "refuses the login" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["streams", "topics create", "topics check"])
@pytest.mark.parametrize(
    "variables",
    [
        {"BOOTSTRAP_SERVERS": ":::"},
        {"BOOTSTRAP_SERVERS": "kafka:port"},
        {"BOOTSTRAP_SERVERS": "127.0.0.1:1", "SECURITY_PROTOCOL": "SASL_PLAINTEXT"},
    ],
)
def test_kafka_settings_that_contradict_each_other_are_a_matter_of_settings(
    command: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"WATCHLINE_KAFKA_{name}", value)

    code = run(command.split())

    shown = capsys.readouterr().err
    assert code == 2
    assert shown.startswith(f"error: the settings for Kafka at {variables['BOOTSTRAP_SERVERS']} can't be used: ")
    assert len(shown.splitlines()) == 2


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "watchline",
        "mysql://u:s3cret@h/x",
        "postgresql://u:s3cret@127.0.0.1:99999/x",
        "postgresql://u:s3cret/1@h/x",
        "postgresql://u:s3cret#1@h/x",
        "postgresql://u:1?s3cret@h/x",
    ],
)
def test_a_dsn_that_is_none_is_a_matter_of_settings(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", dsn)

    code = run(["migrate"])

    shown = capsys.readouterr().err
    assert code == 2
    assert "WATCHLINE_POSTGRES_DSN" in shown
    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("dsn", "place"),
    [
        ("postgresql://u:p@db:5432/watchline", "db:5432/watchline"),
        ("postgresql://u:p%40x@db/watchline", "db/watchline"),
        ("postgresql:///watchline?host=/run/postgresql", "/run/postgresql/watchline"),
    ],
)
def test_a_place_is_told_without_user_and_password(dsn: str, place: str) -> None:
    assert describe_dsn(dsn) == place
