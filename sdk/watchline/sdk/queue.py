"""The messages that wait, in order; the least important of them can be found at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from watchline.sdk.message import Message, Rank


class RankedQueue:
    """A queue from which the oldest message of the lowest rank can be taken as fast as the next one.

    A job that emits faster than Kafka takes evicts with every event, so a search would stand in its way.
    """

    def __init__(self) -> None:
        self._all: OrderedDict[Message, None] = OrderedDict()
        self._ranked: dict[Rank, OrderedDict[Message, None]] = {rank: OrderedDict() for rank in sorted(Rank)}

    def __len__(self) -> int:
        return len(self._all)

    def append(self, message: Message) -> None:
        """Put a message behind all others."""
        self._all[message] = None
        self._ranked[message.rank][message] = None

    def put_first(self, messages: Iterable[Message]) -> None:
        """Put messages before all others, in their order."""
        for message in reversed(list(messages)):
            self.append(message)
            self._all.move_to_end(message, last=False)
            self._ranked[message.rank].move_to_end(message, last=False)

    def take(self, limit: int) -> list[Message]:
        """Take the first messages, at most `limit`."""
        taken = [self._all.popitem(last=False)[0] for _ in range(min(limit, len(self._all)))]
        for message in taken:
            del self._ranked[message.rank][message]
        return taken

    def take_last(self) -> Message:
        """Take the newest message; KeyError when there is none."""
        message, _ = self._all.popitem()
        del self._ranked[message.rank][message]
        return message

    def take_below(self, rank: Rank) -> Message | None:
        """Take the oldest message of the lowest rank below `rank`, None when there is none."""
        for lower, messages in self._ranked.items():
            if lower >= rank:
                return None
            if messages:
                message, _ = messages.popitem(last=False)
                del self._all[message]
                return message
        return None
