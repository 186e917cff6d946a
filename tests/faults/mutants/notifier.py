"""Bugs for the notifier."""

from __future__ import annotations

from typing import Any, cast

from watchline.consumers.notifier import slack
from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.outbox import Outbox
from watchline.consumers.notifier.route import Attempt, Delivery

TOLD = Delivery((Attempt("slack", Outcome("accepted", 200)),), 0.0)


def mark_before_send() -> None:
    """An alert is marked as told, then told."""
    renew, mark = Outbox.renew, Outbox.mark

    async def renew_and_mark(self: Outbox, message: Message, destination: str) -> bool:
        ours = await renew(self, message, destination)
        if ours:
            await mark(self, message, TOLD)
        return ours

    cast(Any, Outbox).renew = renew_and_mark
    never_mark()


def never_mark() -> None:
    """It is forgotten that an alert was told."""

    async def mark(self: Outbox, message: Message, delivery: Delivery) -> list[str]:
        return ["sent"]

    cast(Any, Outbox).mark = mark


def ignore_retry_after() -> None:
    """Whoever asks us to wait is asked again at once."""
    cast(Any, slack).retry_after = lambda header, now: 0.0
