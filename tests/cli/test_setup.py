import pytest

from brokers.kinds import Broker
from watchline.cli.main import run
from watchline.schemas.topics import Topics


def test_migrating_twice_applies_nothing_the_second_time(
    empty_database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", empty_database)

    assert run(["migrate"]) == 0
    first = capsys.readouterr()
    assert run(["migrate"]) == 0
    second = capsys.readouterr()

    assert first.out.splitlines()[0] == "0001"
    assert second.out == ""
    assert "already up to date" in second.err


def test_topics_that_exist_are_left_alone_and_a_wrong_count_is_refused(
    broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("WATCHLINE_TOPIC_PREFIX", topics.prefix)

    assert run(["topics", "create", "--partitions", "4"]) == 0
    created = capsys.readouterr().out
    assert run(["topics", "check", "--partitions", "4"]) == 0
    capsys.readouterr()
    assert run(["topics", "check", "--partitions", "8"]) == 2

    assert topics.runs not in created.splitlines()
    assert f"topic {topics.runs} has 4 partitions instead of 8" in capsys.readouterr().err
