"""A real job in a process of its own: the row, the anomaly, the incident and the Slack request come of it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from brokers.kinds import Broker
from slack.fake import FakeSlack
from stack.contents import rows, value
from stack.services import Services, services
from stack.waiting import until
from watchline.schemas import Topics

JOB = Path(__file__).with_name("job.py")


async def run_job(running: Services, *arguments: str) -> tuple[int | None, str]:
    """Run the job to its end; its exit code and what it wrote to stderr."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(JOB), *arguments,
        env=running.job_environment, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, errors = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, errors.decode()


async def test_a_job_that_loads_too_little_and_then_fails_is_heard_of_in_slack(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    async with FakeSlack() as slack:
        more = {
            "WATCHLINE_SLACK_WEBHOOK_URL": slack.url,
            "WATCHLINE_SLACK_ALLOW_INSECURE": "1",
            "WATCHLINE_GROUP_WAIT_SECONDS": "0",
            "WATCHLINE_GROUP_INTERVAL_SECONDS": "1",
            "WATCHLINE_OUTBOX_DIR": str(tmp_path / "outbox"),
        }
        with services(tmp_path, broker.bootstrap_servers, database, topics, more) as running:
            for part in ("streams", "sink", "notify"):
                running.start(part)
            code, errors = await run_job(running, "15", "3", "fail")

            async def stored() -> bool:
                return bool(await value(database, "select count(*) = 17 from runs where ended_at is not null"))

            async def said() -> bool:
                return "run failed" in text(slack) and "inserts" in text(slack)

            await until("17 runs in Postgres", stored)
            await until("both incidents in Slack", said)

    assert code == 1
    assert "RuntimeError: the source is gone" in errors
    await check_rows(database)
    assert "<!channel>" not in text(slack)
    assert "sales" in text(slack)


async def check_rows(database: str) -> None:
    failed = await rows(database, "select status, error_type, error_message from runs where status = 'failed'")
    anomalies = await rows(database, "select metric, value::int, baseline_runs from anomalies where metric = 'inserts'")
    incidents = await rows(database, "select kind, status, owner from incidents order by kind")
    mark = await value(database, "select effective from watermarks where pipeline = 'orders_daily'")

    assert failed == [("failed", "RuntimeError", "the source is gone & <!channel>")]
    assert anomalies == [("inserts", 3, 15)]
    assert incidents == [("anomaly", "open", "sales"), ("failure", "open", "sales")]
    assert mark == "2026-11-30"


def text(slack: FakeSlack) -> str:
    """Everything that Slack was sent, as one text."""
    return "\n".join(json.dumps(request.payload) for request in slack.requests)
