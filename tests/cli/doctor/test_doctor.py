import asyncio

import asyncpg
import pytest

from brokers.kinds import Broker
from ingesting.pulses import arrive
from watchline.cli.main import run
from watchline.schemas.topics import Topics


@pytest.fixture
def surroundings(broker: Broker, topics: Topics, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("WATCHLINE_TOPIC_PREFIX", topics.prefix)
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", database)
    monkeypatch.setenv("WATCHLINE_PARTITIONS", "4")


def outcomes(shown: str) -> dict[str, str]:
    """Outcome by check, from the printed table."""
    lines = [line.split(maxsplit=1) for line in shown.splitlines() if not line.startswith(" ")]
    return {rest.split("  ")[0]: outcome for outcome, rest in lines}


@pytest.mark.usefixtures("surroundings")
def test_a_sound_installation_passes(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["doctor"])

    found = outcomes(capsys.readouterr().out)
    assert code == 0
    assert {name for name, outcome in found.items() if outcome == "fail"} == set()
    assert {"settings", "Kafka", "topics", "Postgres", "clock", "schema", "permission", "alerts"} <= {
        name for name, outcome in found.items() if outcome == "ok"
    }
    assert found["lag of streams"] == found["lag of sink"] == found["Slack"] == found["ingestion"] == "warn"


@pytest.mark.usefixtures("surroundings")
async def test_a_partition_that_lags_is_named(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    connection = await asyncpg.connect(database)
    await arrive(connection)
    await arrive(connection, [3], delay=2400)
    await connection.close()

    code = await asyncio.to_thread(run, ["doctor"])

    shown = capsys.readouterr().out
    assert code == 0
    assert outcomes(shown)["ingestion"] == "warn"
    assert "partition 3 is 40 min behind" in shown


@pytest.mark.usefixtures("surroundings")
def test_a_database_without_tables_fails(
    empty_database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", empty_database)

    code = run(["doctor"])

    shown = capsys.readouterr()
    assert code == 1
    assert outcomes(shown.out)["schema"] == "fail"
    assert "hint: schema: run `watchline migrate`" in shown.err


@pytest.mark.usefixtures("surroundings")
def test_unequal_partitions_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WATCHLINE_PARTITIONS", "5")

    code = run(["doctor"])

    assert code == 1
    assert outcomes(capsys.readouterr().out)["topics"] == "fail"


def test_a_wrong_setting_is_told_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", "postgresql://u:p@127.0.0.1/x")
    monkeypatch.setenv("WATCHLINE_GROUP_WAIT_SECONDS", "long")

    code = run(["doctor"])

    assert code == 1
    assert outcomes(capsys.readouterr().out) == {"settings of notify": "fail"}
