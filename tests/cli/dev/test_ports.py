import socket

import pytest

from watchline.cli.main import run


@pytest.mark.parametrize("option", ["--kafka-port", "--postgres-port"])
def test_a_port_in_use_is_told_before_anything_starts(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code = run(["dev", option, str(port)])

    assert code == 2
    assert capsys.readouterr().err.startswith(f"error: port {port} can't be used: Address already in use\nhint: ")
