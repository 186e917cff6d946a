"""Places where a test can make a process die, fail or stall: `WATCHLINE_FAILPOINT=P3:kill:7,F3:sleep:0.5`.

Off unless the variable is set when this module is imported: a call is then a call of a function without a body.

P3:kill:7     SIGKILL itself at the 7th pass of P3
P3:raise:7    raise Planted at the 7th pass
P3:sleep:0.5  stall the thread for half a second at every pass

The promise that is at stake at each place:

| SDK | | sink | |
|---|---|---|---|
| S1 | an event is in the queue, nowhere else | P1 | records are fetched |
| S2 | a batch has left the queue | P2 | the offsets are moved, inside the transaction |
| S3 | a batch is handed to Kafka, unacknowledged | P3 | all rows are written, before COMMIT |
| S4 | Kafka has it, our counters don't | P4 | after COMMIT, before Kafka hears of it |
| S5 | the process begins to exit | P5 | Kafka has heard of it |
| | | P6 | the group takes partitions away |

| streams | | dead letters | |
|---|---|---|---|
| F1 | a batch is decoded | D1 | a record is found unusable |
| F2 | rows are sent to the changelog, unacknowledged | D2 | its letter is sent, unacknowledged |
| F3 | the changelog is acknowledged | D3 | its letter is acknowledged, its offset not committed |
| F4 | verdicts are acknowledged, rows not yet written | | |
| F5 | before the offsets are committed | **notifier** | |
| F6 | after that | N1 | alerts are claimed |
| F7 | some of a table is recovered | N2 | the request is out, its answer unread |
| F8 | a rebalance: batches in hand have ended | N3 | a channel has answered, the alert is not marked |
| F9 | a tick of the clock is due | N4 | the alert is marked |

Migrations: M1 every step is done, before COMMIT; M2 between two steps.
Rebuild: R1 a batch is folded into the fresh tables; R2 they are compared with the old ones; R3 all is swapped, before
COMMIT.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping

from watchline.schemas.errors import Misconfigured

VARIABLE = "WATCHLINE_FAILPOINT"
POINTS = {"S": 5, "F": 9, "P": 6, "D": 3, "N": 4, "M": 2, "R": 3}
NAMES = frozenset(f"{letter}{number}" for letter, count in POINTS.items() for number in range(1, count + 1))
HINT = "unset WATCHLINE_FAILPOINT; it is for tests, as POINT:kill:PASS, POINT:raise:PASS or POINT:sleep:SECONDS"


class Planted(Exception):
    """The failure that a test asked for; no WatchlineError, since nothing may be prepared for it."""


def read_failpoints(text: str | None) -> Callable[[str], None]:
    """The function to call at a failpoint; Misconfigured for an unknown point or action."""
    if not text:
        return pass_by
    actions = dict(read_action(part) for part in text.split(","))
    return Armed(actions).reach


def pass_by(name: str) -> None:
    """No failpoint is set."""


class Armed:
    """Counts the passes of each point and acts at the one that was asked for."""

    def __init__(self, actions: Mapping[str, Callable[[str, int], None]]) -> None:
        self._actions = actions
        self._passes: Counter[str] = Counter()

    def reach(self, name: str) -> None:
        """Act if it is time for it."""
        if name in self._actions:
            self._passes[name] += 1
            self._actions[name](name, self._passes[name])


def read_action(text: str) -> tuple[str, Callable[[str, int], None]]:
    """The point and what to do there, given its name and the number of the pass."""
    name, _, rest = text.strip().partition(":")
    kind, _, amount = rest.partition(":")
    if name not in NAMES:
        raise Misconfigured(f"WATCHLINE_FAILPOINT names {name!r}, which is no failpoint", hint=HINT)
    try:
        if kind == "sleep":
            return name, stall(float(amount))
        return name, {"kill": kill_at, "raise": raise_at}[kind](int(amount))
    except (KeyError, ValueError) as error:
        raise Misconfigured(f"WATCHLINE_FAILPOINT can't be read: {text!r}", hint=HINT) from error


def kill_at(number: int) -> Callable[[str, int], None]:
    def act(name: str, passed: int) -> None:  # noqa: ARG001 - the shape of an action
        if passed == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return act


def raise_at(number: int) -> Callable[[str, int], None]:
    def act(name: str, passed: int) -> None:
        if passed == number:
            raise Planted(f"{name}, pass {passed}")

    return act


def stall(seconds: float) -> Callable[[str, int], None]:
    def act(name: str, passed: int) -> None:  # noqa: ARG001 - the shape of an action
        time.sleep(seconds)

    return act


def read_or_warn(text: str | None) -> Callable[[str], None]:
    """Like `read_failpoints`, but a job must not fail because of a variable of ours; the services refuse to start."""
    try:
        return read_failpoints(text)
    except Misconfigured as wrong:
        logging.getLogger("watchline").warning("watchline: %s; it is ignored", wrong)
        return pass_by


failpoint = read_or_warn(os.environ.get(VARIABLE))
