"""The demo of the night: play it, print what happened, and check that it is what must happen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from watchline.cli.console import err, out
from watchline.cli.demo.arrival import Arrival
from watchline.cli.demo.night.account import Account, read_account, untold
from watchline.cli.demo.night.clock import last_night
from watchline.cli.demo.night.heard import Heard, read_messages
from watchline.cli.demo.night.play import Player
from watchline.cli.demo.night.report import check_table, messages_table, quiet_table, timeline_table
from watchline.cli.demo.night.script import Script, write_script
from watchline.cli.demo.night.verdict import compare, count_starts, wrong_starts
from watchline.cli.demo.replay import open_producer
from watchline.cli.demo.report import print_table
from watchline.cli.dev.stack import Stack
from watchline.cli.reach import postgres
from watchline.schemas.errors import WatchlineError


async def show_night(stack: Stack, printed: Sequence[str]) -> None:
    """Play the night on a started stack, `printed` being what its notifier prints.

    WatchlineError when an incident is missing, false or different, or a due start was judged wrongly.
    """
    script = write_script(last_night(datetime.now(UTC)))
    began = time.monotonic()
    async with postgres(stack.servers.dsn) as connection, open_producer(stack.servers.kafka) as producer:
        player = Player(script, stack, connection, producer)
        err.print(f"Night of {script.night.sunday}: {len(script.declared)} pipelines, 20:00 to 09:00 in Berlin")
        await player.play()
        account = await read_account(connection, player.places, player.arrivals)
        arrival = Arrival(connection, [], stack.check)

        async def unheard() -> int:
            return len(untold(account.changes, {(each.incident, each.number) for each in read_messages(printed)}))

        await arrival.until(unheard, 0, "messages that the notifier has sent and not printed")
    err.print(f"14 hours played in {time.monotonic() - began:.0f} s")
    judge(script, account, read_messages(printed))


def judge(script: Script, account: Account, heard: Sequence[Heard]) -> None:
    """Print the timeline, the messages and the check; WatchlineError when anything is not as expected."""
    print_table(out, timeline_table(account.changes))
    print_table(out, messages_table(heard, account.changes))
    print_table(out, quiet_table(script.stories))
    lines, starts = compare(script, account), wrong_starts(script, account)
    print_table(out, check_table(lines))
    out.print(f"\nExpected starts: {count_starts(account)}")
    wrong = [f"{each.pipeline} {each.kind} is {each.judgement}" for each in lines if each.judgement != "as expected"]
    if wrong or starts:
        raise WatchlineError(f"the night did not come out as expected: {'; '.join([*wrong, *starts])}")
    out.print(f"{len(lines)} incidents, all explained: none false, none missing")
