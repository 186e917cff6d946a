"""No secret of any setting leaves a service: by its logs, errors and tracebacks, nor by what it stores and sends."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import psutil  # type: ignore[import-untyped]  # ships no types
import pytest
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from pydantic import SecretStr

from brokers.kinds import Broker
from faults.lives import fail
from security.canaries import CANARY, planted
from security.logins import login
from security.refusing_kafka import RefusingKafka, refusing_kafka
from slack.fake import HANG, RESET, Answer, FakeSlack
from slack.incidents import enqueue, incident
from stack.contents import rows
from stack.services import Services, services
from watchline.consumers.roles import NOTIFIER, WRITER
from watchline.schemas import KafkaConnection, Topics

SECONDS = 120.0
WEBHOOK = f"/services/T0/B0/{CANARY}"
LOUD = {"WATCHLINE_LOG_LEVEL": "DEBUG", "WATCHLINE_DEBUG": "1", "PYTHONASYNCIODEBUG": "1"}
JOB = """
import logging
logging.basicConfig(level=logging.DEBUG)
from watchline.sdk import Pipeline, Watchline
with Watchline().pipeline(Pipeline(name="orders_daily")).run() as run:
    run.add(inserts=1)
"""
EMIT = ("emit", "run.started", "--pipeline", "orders_daily", "--timeout", "5")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("streams",), ("sink",), ("notify",), ("migrate",), ("migrate", "--roles-sql"), ("topics", "check"),
    ("topics", "create"), ("doctor",), ("dead-letters", "list"), ("dead-letters", "redrive", "1"), EMIT,
    ("exec", "--pipeline", "orders_daily", "--", "true"),
)  # fmt: skip
SOME = (("sink",), ("notify",), ("doctor",), EMIT)
REST = tuple(command for command in COMMANDS if command not in SOME)
POSTGRES_COMMANDS = [command for command in COMMANDS if command[0] in ("sink", "notify", "migrate", "dead-letters")]
# Each ends the address early somewhere in the password.
BROKEN = (
    f"postgresql://watchline:1/{CANARY}@127.0.0.1:1/watchline",
    f"postgresql://watchline:1?{CANARY}@127.0.0.1:1/watchline",
    f"postgresql://watchline:1#{CANARY}@127.0.0.1:1/watchline",
    f"postgresql://watchline:a@b/{CANARY}@127.0.0.1:1/watchline",
    f"postgresql://watchline:x:{CANARY}@127.0.0.1:1/watchline",
    f"mysql://watchline:{CANARY}@127.0.0.1:1/watchline",
    f"host=127.0.0.1 password={CANARY}",
    f"postgresql://watchline:{CANARY}@nowhere.invalid/watchline",
    f"postgresql://watchline:{CANARY}@127.0.0.1:99999/watchline",
    f"postgresql://watchline:{CANARY}@127.0.0.1:1/watchline?sslmode=nonsense",
    f"postgresql://127.0.0.1:1/watchline?user=x&password={CANARY}",
)


@pytest.fixture
async def kafka() -> AsyncIterator[RefusingKafka]:
    async with refusing_kafka() as opened:
        yield opened


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    """Everything secret, at DEBUG, with nobody at any address."""
    return {
        **planted(), **LOUD,
        "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "WATCHLINE_KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "WATCHLINE_KAFKA_SASL_USERNAME": "watchline",
        "WATCHLINE_OUTBOX_DIR": str(tmp_path / "outbox"),
        "WATCHLINE_FLUSH_SECONDS": "2",
        **more,
    }  # fmt: skip


def in_files(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The same, with each secret in a file."""
    found = {name: value for name, value in given.items() if name not in planted()}
    for name in planted():
        (folder / name).write_text(given[name])
        found[f"{name}_FILE"] = str(folder / name)
    return found


async def speak(command: Sequence[str], given: Mapping[str, str]) -> str:
    """Everything that a command says until it ends, its command line included."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WATCHLINE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, env={**clean, **given}, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE
    )
    line = " ".join(psutil.Process(process.pid).cmdline())
    try:
        async with asyncio.timeout(SECONDS):
            said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return line + "".join(part.decode(errors="replace") for part in said)


async def speak_all(commands: Sequence[Sequence[str]], given: Mapping[str, str]) -> dict[str, str]:
    """What each command of `watchline` says, four at a time."""
    few = asyncio.Semaphore(4)

    async def one(command: Sequence[str]) -> str:
        async with few:
            return await speak(["-m", "watchline.cli", *command], given)

    said = await asyncio.gather(*map(one, commands))
    return dict(zip(map(" ".join, commands), said, strict=True))


def assert_silent(said: Mapping[str, str]) -> None:
    """Each has said something, and none of it is secret."""
    assert {name for name, text in said.items() if not text} == set()
    assert {name: text for name, text in said.items() if CANARY in text} == {}


@pytest.mark.parametrize("commands", [SOME, pytest.param(REST, marks=pytest.mark.faults)], ids=["some", "the rest"])
async def test_no_command_shows_a_secret_when_its_login_is_refused(
    commands: Sequence[Sequence[str]], kafka: RefusingKafka, database: str, tmp_path: Path
) -> None:
    wrong = urlsplit(database)._replace(netloc=f"nobody:{CANARY}@{urlsplit(database).netloc.rpartition('@')[2]}")
    given = environment(
        tmp_path, WATCHLINE_KAFKA_BOOTSTRAP_SERVERS=kafka.address, WATCHLINE_POSTGRES_DSN=wrong.geturl()
    )

    said = await speak_all(commands, given)
    said["a job"] = await speak(["-c", JOB], given)

    assert_silent(said)
    assert any(CANARY.encode() in token for token in kafka.logins), "nobody has tried to log in"
    assert "refuses the login" in said[" ".join(commands[0])]


async def test_the_client_of_kafka_logs_its_requests_and_no_password(
    kafka: RefusingKafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    connection = KafkaConnection(
        bootstrap_servers=kafka.address, security_protocol="SASL_PLAINTEXT", sasl_username="me",
        sasl_password=SecretStr(CANARY),
    )  # fmt: skip

    client = AIOKafkaClient(**connection.client_arguments())
    with pytest.raises(KafkaError):
        await client.bootstrap()
    await client.close()

    assert kafka.logins == [f"me\0me\0{CANARY}".encode()]
    assert "SaslAuthenticateRequest_v0(…)" in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.faults
async def test_no_command_shows_a_secret_when_nobody_answers(tmp_path: Path) -> None:
    said = await speak_all(COMMANDS, environment(tmp_path))

    assert_silent(said)


@pytest.mark.faults
async def test_no_command_shows_a_secret_that_stands_in_a_file(tmp_path: Path) -> None:
    said = await speak_all(COMMANDS, in_files(tmp_path, environment(tmp_path)))

    assert_silent(said)
    assert "error" in said["sink"]


@pytest.mark.faults
@pytest.mark.parametrize("dsn", BROKEN)
async def test_no_command_shows_a_piece_of_a_password_that_breaks_its_url(dsn: str, tmp_path: Path) -> None:
    plain = {"WATCHLINE_KAFKA_SECURITY_PROTOCOL": "PLAINTEXT", "WATCHLINE_POSTGRES_DSN": dsn}

    said = await speak_all(POSTGRES_COMMANDS, environment(tmp_path, **plain))

    assert_silent(said)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(404, f"Cannot POST {WEBHOOK}"),
        *(
            pytest.param(one, marks=pytest.mark.faults)
            for one in (Answer(500, CANARY), Answer(302, "", {"Location": f"http://127.0.0.1:1{WEBHOOK}"}), HANG, RESET)
        ),
    ],
    ids=lambda answer: f"{answer.status} {answer.conduct}",
)
async def test_a_notifier_shows_no_webhook_whatever_slack_answers(
    answer: Answer, database: str, tmp_path: Path
) -> None:
    async with FakeSlack(path=WEBHOOK) as slack, login(database, NOTIFIER, password=CANARY) as dsn:
        slack.answers.append(answer)
        with services(tmp_path, "127.0.0.1:1", dsn, Topics(), notifying(slack)) as running:
            running.environment["WATCHLINE_POSTGRES_DSN"] = dsn
            await tell(database)
            running.launch("notify")
            await slack.wait_for(1)
            await logged(running, "channel.")
            await asyncio.to_thread(running.stop_all)
            await tell(database)
            await fail(running, "notify", "N1:raise:1")
        told = [json.dumps(each.payload) for each in slack.requests]

    assert_silent(texts(tmp_path) | {"Slack": " ".join(told)})
    for table in ("alert_outbox", "alert_deliveries"):
        assert CANARY not in str(await rows(database, f"select * from {table}"))


async def tell(dsn: str) -> None:
    """Give the notifier something to say."""
    connection = await asyncpg.connect(dsn)
    await enqueue(connection, incident())
    await connection.close()


def notifying(slack: FakeSlack) -> dict[str, str]:
    return {
        **planted(), **LOUD,
        "WATCHLINE_SLACK_WEBHOOK_URL": slack.url,
        "WATCHLINE_SLACK_FALLBACK_WEBHOOK_URL": slack.url,
        "WATCHLINE_SLACK_ALLOW_INSECURE": "1",
        "WATCHLINE_GROUP_WAIT_SECONDS": "0",
        "WATCHLINE_POLL_SECONDS": "0.02",
        "WATCHLINE_LEASE_SECONDS": "1",
        "WATCHLINE_REQUEST_TIMEOUT_SECONDS": "0.9",
    }  # fmt: skip


async def logged(running: Services, text: str, name: str = "") -> None:
    """Return when a service, or the one of that name, has logged `text`."""
    async with asyncio.timeout(90):
        while not any(text in said for log, said in texts(running.folder).items() if name in log):
            await asyncio.sleep(0.05)


def texts(folder: Path) -> dict[str, str]:
    """The logs of the services."""
    return {path.name: path.read_text(errors="replace") for path in folder.glob("*.log")}


@pytest.mark.faults
async def test_streams_and_sink_show_no_secret_at_work_or_when_they_fail(
    broker: Broker, topics: Topics, database: str, tmp_path: Path
) -> None:
    async with login(database, WRITER, password=CANARY) as dsn:
        with services(tmp_path, broker.bootstrap_servers, dsn, topics, {**planted(), **LOUD}) as running:
            running.environment["WATCHLINE_POSTGRES_DSN"] = dsn
            await asyncio.to_thread(running.start, "streams")
            await asyncio.to_thread(running.start, "sink")
            given = {**running.job_environment, "WATCHLINE_OUTBOX_DIR": str(tmp_path / "outbox")}
            said = {"a job": await speak(["-c", JOB], given)}
            async with asyncio.timeout(60):
                while not await rows(database, "select * from runs where ended_at is not null"):
                    await asyncio.sleep(0.1)
            lines = [" ".join(psutil.Process(child.pid).cmdline()) for child in running.running]
            await asyncio.to_thread(running.stop_all)
            for service, point in (("streams", "F1"), ("sink", "P1")):
                await speak(["-c", JOB], given)
                child = running.launch(service, WATCHLINE_FAILPOINT=f"{point}:raise:1")
                await logged(running, "Planted", child.name)

    assert_silent(said | texts(tmp_path) | {"command lines": " ".join(lines)})
    for table in ("runs", "dead_letters", "sink_offsets", "incidents"):
        assert CANARY not in str(await rows(database, f"select * from {table}"))
