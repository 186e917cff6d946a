"""Every answer that Slack's Web API can give."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from slack.fake import Answer
from slack.workspace import FakeWorkspace
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.workspace import MAX_ANSWER_BYTES, Refused, Workspace, judge, read_answer

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "error", ["channel_not_found", "not_in_channel", "is_archived", "restricted_action", "something_new"]
)
def test_an_error_of_the_channel_breaks_it(error: str) -> None:
    assert judge(200, error, None, NOW) == Outcome("rejected", 200, error, broken=True)


@pytest.mark.parametrize("error", ["msg_too_long", "no_text", "invalid_blocks", "metadata_too_large"])
def test_an_error_of_the_message_breaks_no_channel(error: str) -> None:
    assert judge(200, error, None, NOW) == Outcome("rejected", 200, error, broken=False)


@pytest.mark.parametrize("error", ["invalid_auth", "token_revoked", "account_inactive", "missing_scope"])
def test_an_error_of_the_token_blames_no_alert_and_closes_the_channel(error: str) -> None:
    assert judge(200, error, None, NOW) == Outcome("retry", 200, error, broken=True)


@pytest.mark.parametrize(("status", "error"), [(429, "ratelimited"), (429, ""), (200, "ratelimited")])
def test_too_many_requests_say_when_to_come_back(status: int, error: str) -> None:
    assert judge(status, error, "7", NOW) == Outcome("retry", status, error or None, retry_after=7.0)


@pytest.mark.parametrize(("status", "error"), [(200, "fatal_error"), (200, "internal_error"), (503, ""), (500, "x")])
def test_a_server_in_trouble_may_have_done_it(status: int, error: str) -> None:
    assert judge(status, error, None, NOW) == Outcome("retry", status, error or None, unknown=True)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"\xff", b'"ok"'])
def test_an_answer_that_is_no_object_says_nothing(body: bytes) -> None:
    assert read_answer(body) == {}


async def test_a_page_with_status_200_is_no_acceptance() -> None:
    async with FakeWorkspace({"C000DATA": "data"}) as fake:
        fake.answers["chat.postMessage"].append(Answer(200, ""))
        workspace = Workspace(SecretStr(fake.token), fake.url, timeout=2)
        with pytest.raises(Refused) as refused:
            await workspace.call("chat.postMessage", {"channel": "C000DATA", "text": "x"})
        await workspace.close()

    assert (refused.value.outcome.result, refused.value.outcome.broken) == ("rejected", True)


async def test_nobody_listening_has_accepted_nothing() -> None:
    async with FakeWorkspace({}) as gone:
        url = gone.url
    workspace = Workspace(SecretStr("xoxb-x"), url, timeout=2)
    with pytest.raises(Refused) as refused:
        await workspace.call("chat.postMessage", {})
    await workspace.close()

    assert refused.value.outcome == Outcome("retry", detail="ConnectError")


async def test_a_refused_token_is_tried_again_after_a_while_and_not_before() -> None:
    now = 1000.0
    async with FakeWorkspace({"C000DATA": "data"}) as fake:
        workspace = Workspace(SecretStr(fake.token), fake.url, timeout=2, clock=lambda: now)
        fake.token_error = "token_revoked"
        for _ in range(3):
            with pytest.raises(Refused):
                await workspace.call("chat.postMessage", {"channel": "C000DATA", "text": "x"})
        asked = len(fake.calls)
        fake.token_error, now = None, now + 600
        answer = await workspace.call("chat.postMessage", {"channel": "C000DATA", "text": "x"})
        await workspace.close()

    assert (asked, answer["ok"]) == (1, True)


def test_a_whole_page_of_history_fits_into_an_answer() -> None:
    assert MAX_ANSWER_BYTES >= 100 * 16_000
