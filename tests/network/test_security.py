"""Every part of Watchline against a Kafka that wants TLS and a login, and allows only what docs/production.md lists."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from brokers.secured import HOST, SecuredBroker
from network.authority import Authority
from network.rules import rules_of
from stack.contents import rows
from stack.services import Services, services
from watchline.schemas import Topics

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
        while await rows(database, "select status, total_rows from runs") != [("succeeded", 5)] * 2:
            await asyncio.sleep(0.1)
    doctor = command("doctor", running, secured.environment("operator"))

    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    worker.stop()
    sink.stop()
    assert (worker.exit_code, sink.exit_code) == (0, 0)
    said = [made.stderr, doctor.stdout, doctor.stderr, *(child.log.read_text() for child in (worker, sink))]
    assert CANARY not in "".join(said)
    assert "uthorization" not in "".join(said)
