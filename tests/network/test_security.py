"""Every part of Watchline against a Kafka that wants TLS and a login, and allows only what docs/production.md lists."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer

from brokers.secured import HOST, SecuredBroker
from network.authority import Authority
from network.rules import rules_of
from stack.contents import rows
from stack.services import Services, services
from watchline.cli.reach import check_kafka
from watchline.cli.settings import read_kafka
from watchline.schemas import Misconfigured, Topics, Unavailable
from watchline.streams.topics import create_topics

pytestmark = pytest.mark.durable("it knows neither TLS nor logins")
USERS = ("jobs", "streams", "sink", "operator")
CANARY = "canary-S3cret"
JOB = """
import sys
from watchline.sdk import Pipeline, Watchline
client = Watchline(idempotence=True)
orders = client.pipeline(Pipeline(name="orders", default_watermark="0", watermark_kind="integer"))
for number in range(2):
    with orders.run() as run:
        assert run.watermark == str(number), run.watermark
        run.add(inserts=5)
        run.advance(number + 1)
sys.exit(not client.flush(20.0))
"""
HARMLESS = """
from watchline.sdk import Pipeline, Watchline
with Watchline().pipeline(Pipeline(name="orders")).run():
    print("done")
"""


# What is wrong in the settings, and what must be said of it.
WRONG: dict[str, tuple[dict[str, str], str]] = {
    "password": ({"SASL_PASSWORD": f"{CANARY}-wrong"}, r"refuses the login"),
    "user": ({"SASL_USERNAME": "nobody"}, r"refuses the login"),
    "mechanism": ({"SASL_MECHANISM": "PLAIN"}, r"refuses the login"),
    "authority": ({"SSL_CAFILE": "theirs/ca.pem"}, r"TLS with Kafka .* fails: .*certificate"),
    "no authority": ({"SSL_CAFILE": ""}, r"TLS with Kafka .* fails: .*certificate"),
    "host name": ({"BOOTSTRAP_SERVERS": "127.0.0.1"}, r"TLS with Kafka .* fails: .*127\.0\.0\.1"),
    "no TLS": ({"SECURITY_PROTOCOL": "SASL_PLAINTEXT"}, r"Kafka does not answer"),
    "protocol": ({"SECURITY_PROTOCOL": "TLS"}, r"SECURITY_PROTOCOL is wrong"),
    "name of a setting": ({"SSL_CA_FILE": "ours/ca.pem"}, r"SSL_CA_FILE is no setting"),
}


@dataclass(frozen=True)
class Secured:
    """The broker, and where the files of its users lie."""

    broker: SecuredBroker
    folder: Path
    authority: Authority
    stranger: Authority

    def environment(self, user: str) -> dict[str, str]:
        """Settings of one user, as docs/production.md has them; the password stands in a file."""
        return {
            "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": self.broker.login,
            "WATCHLINE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "WATCHLINE_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "WATCHLINE_KAFKA_SASL_USERNAME": user,
            "WATCHLINE_KAFKA_SASL_PASSWORD_FILE": str(self.password_file(user)),
            "WATCHLINE_KAFKA_SSL_CAFILE": str(self.authority.cafile),
        }

    def resolve(self, changes: dict[str, str]) -> dict[str, str]:
        """Changes by their full names, with the paths and ports of this broker."""
        files = {name: str(self.folder / value) if value else "" for name, value in changes.items() if "CA" in name}
        port = self.broker.login.partition(":")[2]
        addresses = {name: f"{value}:{port}" for name, value in changes.items() if name == "BOOTSTRAP_SERVERS"}
        return {f"WATCHLINE_KAFKA_{name}": value for name, value in {**changes, **files, **addresses}.items()}

    def by_certificate(self, user: str, authority: Authority | None = None) -> dict[str, str]:
        """Settings that replace the login by a certificate."""
        made = (authority or self.authority).sign(user)
        return {
            "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": self.broker.certificate,
            "WATCHLINE_KAFKA_SECURITY_PROTOCOL": "SSL",
            "WATCHLINE_KAFKA_SSL_CERTFILE": str(made.certfile),
            "WATCHLINE_KAFKA_SSL_KEYFILE": str(made.keyfile),
        }

    def password_file(self, user: str) -> Path:
        path = self.folder / f"{user}.password"
        path.write_text(f"{password_of(user)}\n")
        return path


def password_of(user: str) -> str:
    return f"{CANARY}-{user}"


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory, jars: Path) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority, stranger = Authority(folder / "ours", "ours"), Authority(folder / "theirs", "theirs")
    broker = SecuredBroker(
        folder / "kafka",
        cache=jars,
        keystore=authority.sign("broker", host=HOST).both,
        cafile=authority.cafile,
        users={user: password_of(user) for user in USERS},
    )
    try:
        broker.start()
        yield Secured(broker, folder, authority, stranger)
    finally:
        broker.stop()


@pytest.fixture
async def topics(secured: Secured) -> Topics:
    """Names that nobody used yet, with the rules of the document for them."""
    fresh = Topics(prefix=f"t{uuid4().hex[:12]}")
    await secured.broker.allow(rules_of(fresh))
    return fresh


@pytest.fixture
def running(secured: Secured, topics: Topics, tmp_path: Path, database: str) -> Iterator[Services]:
    with services(tmp_path, secured.broker.login, database, topics) as made:
        yield made


def run(arguments: list[str], running: Services, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={**running.job_environment, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def command(words: str, running: Services, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return run(["-m", "watchline.cli", *words.split()], running, environment)


async def test_every_part_works_over_tls_with_a_login_and_the_rules_of_the_document(
    secured: Secured, running: Services, topics: Topics, database: str
) -> None:
    made = command("topics create", running, secured.environment("operator"))
    assert made.returncode == 0, made.stderr
    sink = running.start("sink", **secured.environment("sink"))
    worker = running.start("streams", **secured.environment("streams"))

    job = run(["-c", JOB], running, secured.environment("jobs"))
    assert (job.returncode, job.stderr) == (0, "")
    async with asyncio.timeout(60):
        while await rows(database, "select status, inserts from runs") != [("succeeded", 5)] * 2:
            await asyncio.sleep(0.1)
    async with AIOKafkaProducer(bootstrap_servers=secured.broker.bootstrap_servers) as producer:
        await producer.send_and_wait(topics.runs, b"no event", key=b"orders")
    async with asyncio.timeout(60):
        while not await rows(database, "select 1 from dead_letters"):
            await asyncio.sleep(0.1)
    redriven = command("dead-letters redrive --all --yes", running, secured.environment("operator"))
    assert redriven.returncode == 0, redriven.stderr
    doctor = command("doctor", running, secured.environment("operator"))

    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    worker.stop()
    sink.stop()
    assert (worker.exit_code, sink.exit_code) == (0, 0)
    said = [
        made.stderr,
        redriven.stderr,
        doctor.stdout,
        doctor.stderr,
        *(child.log.read_text() for child in (worker, sink)),
    ]
    assert CANARY not in "".join(said)
    assert "uthorization" not in "".join(said)


@pytest.mark.parametrize("wrong", WRONG)
async def test_what_is_wrong_is_refused_and_named_and_no_password_is_shown(
    secured: Secured, wrong: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    changes, message = WRONG[wrong]
    for name, value in {**secured.environment("operator"), **secured.resolve(changes)}.items():
        monkeypatch.setenv(name, value)

    with pytest.raises((Misconfigured, Unavailable), match=message) as caught:
        await check_kafka(read_kafka())

    shown = "".join(traceback.format_exception(caught.value)) + str(caught.value.hint) + caplog.text
    assert CANARY not in shown


async def test_a_certificate_alone_lets_in_whom_the_rules_allow(
    secured: Secured, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**secured.environment("operator"), **secured.by_certificate("operator")}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    made = await create_topics(read_kafka(), topics, partitions=4, replication_factor=1)

    assert set(made) >= {spec.name for spec in topics.specs()}


@pytest.mark.parametrize("issuer", ["nobody", "a stranger"])
async def test_without_a_certificate_of_the_authority_nobody_is_let_in(
    secured: Secured, issuer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**secured.environment("operator"), **secured.by_certificate("operator", secured.stranger)}
    if issuer == "nobody":
        del settings["WATCHLINE_KAFKA_SSL_CERTFILE"]
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(Misconfigured, match=r"TLS with Kafka .* fails: .*(certificate|unknown ca)"):
        await check_kafka(read_kafka())


async def test_a_job_with_a_wrong_password_ends_as_without_watchline_and_shows_no_password(
    secured: Secured, running: Services
) -> None:
    wrong = {"WATCHLINE_KAFKA_SASL_PASSWORD": f"{CANARY}-wrong", "WATCHLINE_FLUSH_SECONDS": "4"}

    job = run(["-c", HARMLESS], running, {**secured.environment("jobs"), **wrong})

    assert (job.returncode, job.stdout) == (0, "done\n")
    assert "watchline" in job.stderr.lower()
    assert CANARY not in job.stderr


@pytest.mark.faults
async def test_a_worker_without_the_right_to_its_topics_ends_and_says_so(
    secured: Secured, running: Services, topics: Topics
) -> None:
    made = command("topics create", running, secured.environment("operator"))
    assert made.returncode == 0, made.stderr

    worker = command("streams", running, secured.environment("jobs"))
    sink = command("sink", running, secured.environment("jobs"))

    assert (worker.returncode, sink.returncode) == (2, 2), worker.stderr + sink.stderr
    assert topics.changelog("runs") in worker.stderr
    assert "refuses" in sink.stderr
