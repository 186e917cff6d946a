"""Which alerts a fake Slack has taken."""

from __future__ import annotations

import json
import re

from slack.fake import Received

REFERENCE = re.compile(r"incident ([0-9a-f]{8}), change (\d+)")


def alerts_in(accepted: list[Received]) -> list[tuple[str, int]]:
    """Start of the incident's id and number of its change, once for each message that tells it."""
    return [alert for message in accepted for alert in sorted(references(json.dumps(message.payload)))]


def references(text: str) -> set[tuple[str, int]]:
    """The incidents that a message names."""
    return {(identity, int(number)) for identity, number in REFERENCE.findall(text)}
