"""Every answer that Slack, or something in its place, can give."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from slack.fake import DRIP, HANG, RESET, Answer, FakeSlack
from slack.incidents import incident, message
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.slack import SlackChannel, classify

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MESSAGE = message(incident())


@pytest.fixture
async def channel(slack: FakeSlack) -> AsyncIterator[SlackChannel]:
    opened = SlackChannel(SecretStr(slack.url), timeout=1.0)
    yield opened
    await opened.close()


async def test_a_message_is_accepted_by_ok_only(slack: FakeSlack, channel: SlackChannel) -> None:
    outcome = await channel.send(MESSAGE)

    assert outcome == Outcome("accepted", 200)
    assert slack.requests[0].text.startswith("🔴 orders_daily")


async def test_a_page_with_status_200_is_no_acceptance(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.answers.append(Answer(200, "<html>please log in</html>"))

    outcome = await channel.send(MESSAGE)

    assert (outcome.result, outcome.broken) == ("rejected", True)


async def test_a_refused_form_is_sent_again_without_blocks(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.answers.append(Answer(400, "invalid_blocks"))

    outcome = await channel.send(MESSAGE)

    assert outcome.result == "accepted"
    assert ["blocks" in each.payload for each in slack.requests] == [True, False]


async def test_a_message_that_is_refused_in_any_form_does_not_break_the_channel(
    slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.default = Answer(400, "invalid_payload")

    outcome = await channel.send(MESSAGE)

    assert outcome == Outcome("rejected", 400, "invalid_payload", broken=False)
    assert len(slack.requests) == 2


@pytest.mark.parametrize(
    ("status", "body"), [(403, "action_prohibited"), (404, "no_service"), (404, ""), (410, "channel_is_archived")]
)
def test_an_answer_about_the_channel_breaks_it(status: int, body: str) -> None:
    assert classify(status, body, None, NOW) == Outcome("rejected", status, body or None, broken=True)


@pytest.mark.parametrize("status", [408, 500, 502, 503])
def test_trouble_of_the_server_is_to_be_tried_again(status: int) -> None:
    assert classify(status, "rollup_error", None, NOW) == Outcome("retry", status, "rollup_error")


async def test_too_many_requests_says_when_to_come_back(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.answers.append(Answer(429, "rate_limited", {"Retry-After": "7"}))

    outcome = await channel.send(MESSAGE)

    assert outcome == Outcome("retry", 429, "rate_limited", retry_after=7.0)


@pytest.mark.parametrize("answer", [HANG, RESET, DRIP])
async def test_an_answer_that_does_not_come_is_to_be_tried_again(
    answer: Answer, slack: FakeSlack, channel: SlackChannel
) -> None:
    slack.answers.append(answer)

    outcome = await channel.send(MESSAGE)

    assert outcome.result == "retry"
    assert outcome.http_status is None


async def test_a_redirect_is_not_followed(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.answers.append(Answer(302, "", {"Location": slack.url}))

    outcome = await channel.send(MESSAGE)

    assert (outcome.result, outcome.http_status, outcome.broken) == ("rejected", 302, True)
    assert len(slack.requests) == 1


async def test_a_huge_answer_is_not_read_to_its_end(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.answers.append(Answer(200, "ok" + "x" * 10_000_000))

    outcome = await channel.send(MESSAGE)

    assert (outcome.result, outcome.detail) == ("rejected", None)


async def test_a_compressed_answer_is_not_asked_for_nor_unfolded(slack: FakeSlack, channel: SlackChannel) -> None:
    slack.answers.append(Answer(200, "ok", {"Content-Encoding": "gzip"}))

    assert (await channel.send(MESSAGE)).result == "accepted"


async def test_nobody_listening_is_to_be_tried_again() -> None:
    async with FakeSlack() as gone:
        url = gone.url
    channel = SlackChannel(SecretStr(url), timeout=1.0)

    outcome = await channel.send(MESSAGE)
    await channel.close()

    assert outcome == Outcome("retry", detail="ConnectError")


@pytest.mark.parametrize("answer", [Answer(), Answer(500, "no"), Answer(302, "", {"Location": "/x"}), RESET, HANG])
async def test_the_address_is_in_no_log_and_no_outcome(
    answer: Answer, slack: FakeSlack, channel: SlackChannel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    slack.answers.append(answer)

    outcome = await channel.send(MESSAGE)

    ours = [each for each in caplog.records if not each.name.startswith("aiohttp")]  # the fake's own access log
    assert any(each.name.startswith("httpcore") for each in ours)
    assert slack.path not in " ".join(each.getMessage() for each in ours)
    assert "canary" not in repr(outcome)
    assert "canary" not in repr(vars(channel))
