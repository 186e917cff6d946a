"""Rebuilding the tables from the log: one function that reads top to bottom as the promise it keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import asyncpg

from watchline.consumers import locks
from watchline.consumers.rebuild.carrying import carry
from watchline.consumers.rebuild.checksums import Comparison, compare
from watchline.consumers.rebuild.fold import Fold
from watchline.consumers.rebuild.letters import begin_numbers
from watchline.consumers.rebuild.log import Log, open_log
from watchline.consumers.rebuild.older import keep_older
from watchline.consumers.rebuild.reach import SIZE, Reach, older_epochs, reach_of, stood
from watchline.consumers.rebuild.structure import create_fresh, require_sound
from watchline.consumers.rebuild.swapping import REVISION, swap
from watchline.consumers.rebuild.tables import FRESH, MOVED, OLD, REFILL, SPARE
from watchline.consumers.sink.run_statements import SESSION
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import Misconfigured
from watchline.schemas.failpoints import failpoint

NEARLY = 2000  # records that may be folded while the sink waits
ROUNDS = 20
# Ours is a long transaction, and nobody waits for its rows.
OUR_SESSION = "set idle_in_transaction_session_timeout = 0; set statement_timeout = 0; set lock_timeout = 0"


class Report(Protocol):
    """What hears how it goes."""

    def stage(self, title: str, total: int | None = None) -> None:
        """Another step begins; `total` is how many records it has."""

    def folded(self, records: int) -> None:
        """So many more records are done."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for."""

    keep_older: bool = False
    accept_differences: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: records read, the views that were compared, rows by table that the log did not give."""

    records: int
    compared: list[Comparison]
    kept: dict[str, int] = field(default_factory=dict)
    held_seconds: float | None = None  # by the swap; None when there was none

    @property
    def swapped(self) -> bool:
        """Whether the fresh tables are in force."""
        return self.held_seconds is not None

    @property
    def different(self) -> list[str]:
        """The views that say other things than before."""
        return [one.view for one in self.compared if not one.equal]


async def rebuild(connection: asyncpg.Connection, settings: SinkSettings, wanted: Wanted, report: Report) -> Outcome:
    """Fold the log into fresh tables and put them in the place of the old ones, unless a view would say other things.

    Until the swap, which is one transaction, nothing that anybody reads has changed: whatever happens, the old tables
    are in force and the next call begins anew. Raises Misconfigured when the log does not reach back and older rows
    are not to be kept, when the tables have what can't be carried over, or the user lacks rights.
    """
    async with alone(connection), open_log(settings) as log:
        revision = await connection.fetchval(REVISION)
        reach = await survey(connection, log, settings)
        if not wanted.keep_older:
            require_reach(reach)
        report.stage("reading the log", reach.records)
        await connection.execute(f"set search_path = public; {SESSION}")
        await connection.execute(OUR_SESSION)
        await create_fresh(connection)
        await begin_numbers(connection)
        fold = Fold(connection, log, settings, report.folded)
        await catch_up(connection, fold, settings)
        outcome = await check(connection, fold, settings, wanted, report)
        failpoint("R2")  # compared, not swapped
        if outcome.different and not wanted.accept_differences:
            return outcome
        report.stage("swapping")
        await connection.execute(f"vacuum (analyze) {fresh_tables()}")
        await catch_up(connection, fold, settings)
        held = await swap(connection, fold, settings, revision=revision)
        report.stage("counting days")
        await refill(connection)
        return Outcome(outcome.records, outcome.compared, outcome.kept, held_seconds=held)


async def check(
    connection: asyncpg.Connection, fold: Fold, settings: SinkSettings, wanted: Wanted, report: Report
) -> Outcome:
    """Bring the fresh tables to where the old ones stand at one moment, carry over, and compare. The sink goes on."""
    topics = settings.topics.outputs
    await connection.execute(f"analyze {fresh_tables()}")
    async with connection.transaction(isolation="repeatable_read"):
        await fold.up_to(await stood(connection, topics, log_epoch=settings.log_epoch))
        report.stage("carrying over")
        letters = await carry(connection, topics, older=wanted.keep_older)
        kept = {"dead_letters": letters} if letters else {}
        if wanted.keep_older:
            kept |= await keep_older(connection)
        await connection.execute(f"analyze {fresh_tables()}")
        compared = await compare(connection, lambda view: report.stage(f"comparing {view}"))
    return Outcome(fold.records, compared, kept)


async def catch_up(connection: asyncpg.Connection, fold: Fold, settings: SinkSettings) -> None:
    """Fold what the sink has stored, until there is little left to fold; it may be storing more meanwhile."""
    for _ in range(ROUNDS):
        targets = await stood(connection, settings.topics.outputs, log_epoch=settings.log_epoch)
        if fold.reached and fold.missing(targets) <= NEARLY:
            return
        await fold.up_to(targets)


async def refill(connection: asyncpg.Connection) -> None:
    """Fill what is derived; a sink does the same beside us, and goes on when we die."""
    await connection.execute("set search_path = public")
    while await connection.fetchval(REFILL):
        continue


async def estimate(connection: asyncpg.Connection, settings: SinkSettings) -> tuple[Reach, int]:
    """What a rebuild would read, and the bytes that the tables take, which the fresh ones need again; changes nothing.

    Raises what `rebuild` would raise at its start, but for a log that does not reach back.
    """
    async with alone(connection), open_log(settings) as log:
        return await survey(connection, log, settings), await connection.fetchval(SIZE, list(MOVED)) or 0


async def drop_old(connection: asyncpg.Connection) -> bool:
    """Drop the tables that the last rebuild replaced, and what an unfinished one left; whether there was anything."""
    async with alone(connection):
        found = await connection.fetchval(
            "select exists (select from pg_namespace where nspname = any($1))", [OLD, FRESH, SPARE]
        )
        await connection.execute(f"drop schema if exists {OLD}, {FRESH}, {SPARE} cascade")
        return bool(found)


@asynccontextmanager
async def alone(connection: asyncpg.Connection) -> AsyncIterator[None]:
    """As the owner of the tables, and the only rebuild of this database; Misconfigured when either can't be."""
    if not await connection.fetchval("select pg_try_advisory_lock($1)", locks.REBUILD):
        raise Misconfigured("another rebuild is under way in this database", hint="wait until it is done")
    try:
        owner = await require_sound(connection)
        if not await connection.fetchval("select pg_has_role($1::name, 'member')", owner):
            raise Misconfigured(
                f"only the owner of the tables, {owner}, may rebuild them",
                hint=f"give WATCHLINE_POSTGRES_DSN the user who runs `watchline migrate`: {owner}, or a member of it",
            )
        await connection.execute(f"set role {await connection.fetchval('select quote_ident($1)', owner)}")
        yield
    finally:
        if not connection.is_closed():
            await connection.execute("reset role")
            await connection.execute("select pg_advisory_unlock($1)", locks.REBUILD)


async def survey(connection: asyncpg.Connection, log: Log, settings: SinkSettings) -> Reach:
    """How far the log reaches."""
    epochs = await older_epochs(connection, log_epoch=settings.log_epoch)
    stood_at = await stood(connection, settings.topics.outputs, log_epoch=settings.log_epoch)
    if not stood_at and not epochs:
        raise Misconfigured(
            "the sink has stored nothing of these topics yet: there is nothing to rebuild",
            hint="is WATCHLINE_TOPIC_PREFIX that of the sink? The sink reads from the beginning by itself",
        )
    return reach_of(stood_at, await log.begins(stood_at) if stood_at else {}, epochs)


def require_reach(reach: Reach) -> None:
    """Misconfigured when the log does not give everything back."""
    if gaps := reach.gaps():
        raise Misconfigured(
            f"the log does not reach back to the beginning: {'; '.join(gaps)}",
            hint="--keep-older takes over from the old tables what the log can't give back",
        )


def fresh_tables() -> str:
    """The fresh tables by their full names, as a list of SQL."""
    return ", ".join(f"{FRESH}.{name}" for name in MOVED)
