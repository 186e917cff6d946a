"""What a started dev tells."""

from pathlib import Path

from watchline.cli.dev.welcome import alerts_go


def test_alerts_are_not_awaited_here_when_they_go_to_slack(tmp_path: Path) -> None:
    webhook = tmp_path / "webhook"
    webhook.write_text("https://hooks.slack.com/services/T/B/x")

    assert alerts_go({"WATCHLINE_SLACK_BOT_TOKEN": "xoxb-1", "WATCHLINE_SLACK_CHANNEL": "C0"}) == "go to Slack"
    assert alerts_go({"WATCHLINE_SLACK_WEBHOOK_URL": webhook.read_text()}) == "go to Slack"
    assert alerts_go({"WATCHLINE_SLACK_WEBHOOK_URL_FILE": str(webhook)}) == "go to Slack"


def test_alerts_appear_here_without_a_channel_or_webhook_for_what_no_route_takes() -> None:
    assert alerts_go({}) == "appear here"
    assert alerts_go({"WATCHLINE_SLACK_BOT_TOKEN": "xoxb-1", "WATCHLINE_SLACK_ROUTES": "[…]"}) == "appear here"
    assert alerts_go({"WATCHLINE_SLACK_WEBHOOK_URL": ""}) == "appear here"
