"""Which channel a message takes, and when each may be used again."""

from __future__ import annotations

from dataclasses import dataclass, field

from slack.incidents import alert, incident, message
from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.route import BROKEN_SECONDS, Line, Route

MESSAGE = message(incident())
BROKEN = Outcome("rejected", 404, "no_service", broken=True)


@dataclass
class Scripted:
    """A channel that gives the answers of a list, then accepts."""

    name: str
    answers: list[Outcome] = field(default_factory=list)
    sent: int = 0
    edits: bool = False

    async def send(self, message: Message) -> Outcome:
        self.sent += 1
        return self.answers.pop(0) if self.answers else Outcome("accepted", 200)

    async def close(self) -> None: ...


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def route(*channels: Scripted) -> tuple[Route, Clock]:
    clock = Clock()
    return Route([Line(each) for each in channels], messages_per_second=1, clock=clock, chance=lambda: 1.0), clock


async def test_a_channel_takes_one_message_a_second() -> None:
    way, clock = route(Scripted("slack"))

    await way.send(MESSAGE)

    assert way.ready_in() == 1.0
    clock.now += 1
    assert way.ready_in() == 0


async def test_retry_after_parks_the_channel_and_spares_the_fallback() -> None:
    slack, spare = Scripted("slack", [Outcome("retry", 429, retry_after=120.0)]), Scripted("spare")
    way, _ = route(slack, spare)

    delivery = await way.send(MESSAGE)

    assert (delivery.last.result, delivery.wait) == ("retry", 120.0)
    assert way.ready_in() == 120.0
    assert spare.sent == 0


async def test_a_retry_after_of_zero_still_keeps_the_pace() -> None:
    way, _ = route(Scripted("slack", [Outcome("retry", 429, retry_after=0.0)]))

    await way.send(MESSAGE)

    assert way.ready_in() == 1.0


async def test_failures_in_a_row_park_the_channel_longer_and_a_success_forgets_them() -> None:
    down = Outcome("retry", 503)
    way, clock = route(Scripted("slack", [down, down, down, Outcome("accepted", 200), down]))

    parked = []
    for _ in range(5):
        await way.send(MESSAGE)
        parked.append(way.ready_in())
        clock.now += way.ready_in()

    assert parked == [1, 2, 4, 1, 1]


async def test_a_message_that_the_server_chokes_on_waits_longer_than_the_channel() -> None:
    way, _ = route(Scripted("slack", [Outcome("retry", 500)]))

    delivery = await way.send(Message((alert(incident(), attempts=7),)))

    assert delivery.wait == 128
    assert way.ready_in() == 1


async def test_a_broken_channel_is_left_for_the_fallback_and_tried_again_later() -> None:
    slack, spare = Scripted("slack", [BROKEN]), Scripted("spare")
    way, clock = route(slack, spare)

    first = await way.send(MESSAGE)
    clock.now += 1
    second = await way.send(MESSAGE)
    clock.now += BROKEN_SECONDS
    third = await way.send(MESSAGE)

    assert [[each.channel for each in sent.attempts] for sent in (first, second, third)] == [
        ["slack", "spare"],
        ["spare"],
        ["slack"],
    ]


async def test_without_a_fallback_a_broken_channel_rests() -> None:
    way, _ = route(Scripted("slack", [BROKEN]))

    delivery = await way.send(MESSAGE)

    assert delivery.last.result == "rejected"
    assert way.ready_in() == BROKEN_SECONDS


async def test_a_refused_message_does_not_break_the_channel() -> None:
    slack, spare = Scripted("slack", [Outcome("rejected", 400, "invalid_payload")]), Scripted("spare")
    way, clock = route(slack, spare)

    await way.send(MESSAGE)
    clock.now += 1
    await way.send(MESSAGE)

    assert (slack.sent, spare.sent) == (2, 1)


async def test_the_last_chance_goes_over_the_fallback() -> None:
    slack, spare = Scripted("slack", [Outcome("retry", 503), Outcome("retry", 503)]), Scripted("spare")
    way, clock = route(slack, spare)

    early = await way.send(MESSAGE)
    clock.now += 60
    last = await way.send(MESSAGE, last_chance=True)

    assert early.last.result == "retry"
    assert last.last.result == "accepted"
    assert [each.channel for each in last.attempts] == ["slack", "spare"]
