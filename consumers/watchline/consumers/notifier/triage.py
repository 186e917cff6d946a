"""What is decided in Postgres before alerts are claimed: where each is told, what waits for its cause, what is a storm.

All of it stands in the rows, so a notifier that starts anew, or another one, goes on from there. The caller holds
the lock under which alerts are claimed, so one notifier decides at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog

from watchline.consumers.notifier import triage_statements as statements
from watchline.consumers.notifier.grouping import Timing
from watchline.consumers.notifier.inhibition import (
    LATE_KINDS,
    Follows,
    Late,
    causes_below,
    causes_of,
)
from watchline.consumers.notifier.lineage import Lineage, Reads
from watchline.consumers.notifier.routing import Rule, Traits, destination_of
from watchline.consumers.watch.holding import hold_absence

if TYPE_CHECKING:
    from watchline.consumers.notifier.marking import Connection

REFRESH_SECONDS = 10.0  # how long the post of a cause waits for others that it holds back

log = structlog.get_logger(__name__)


@dataclass
class Triage:
    """Decides by the same rules and settings for every destination; `lineage` is kept until a declaration changes."""

    rules: Sequence[Rule]
    default: str
    timing: Timing
    _version: tuple[object, ...] | None = None  # of the lineage: see `LINEAGE_VERSION`
    _lineage: Lineage = field(default_factory=lambda: Lineage(()))

    async def decide(self, connection: Connection, destination: str, *, edits: bool) -> None:
        """Bring the alerts of one destination into the order in which they can be claimed.

        What is stored from now on has no destination yet, so nothing is claimed that has not come by here.
        """
        if edits:
            await connection.execute(statements.GATHER_CHANGES, destination)
        await self.address(connection)
        await hold_absence(connection)  # after it: whatever can be claimed now is looked at
        await connection.execute(statements.CLOSE_HELD, destination)
        await connection.execute(statements.RELEASE_HELD, destination, self.timing.settle)
        await connection.execute(statements.RELEASE_FAILED, destination, self.timing.settle)
        await self.hold_back(connection, destination)
        await self.watch_storm(connection, destination)

    async def address(self, connection: Connection) -> None:
        """Give every new alert its destination and group; the end of an incident goes where it was last told."""
        rows = await connection.fetch(statements.UNADDRESSED)
        if rows:
            await connection.execute(
                statements.ADDRESS, *zip(*addresses(map(dict, rows), self.rules, self.default), strict=True)
            )

    async def hold_back(self, connection: Connection, destination: str) -> None:
        """Let wait what something else explains that people know of: lateness upstream, a failure further down."""
        held = [*await self._late_for(connection, destination), *await self._failed_for(connection, destination)]
        if not held:
            return
        await connection.execute(statements.INHIBIT, *zip(*held, strict=True), self.timing.repeat_interval)
        refresh = timedelta(seconds=REFRESH_SECONDS)
        await connection.execute(statements.REFRESH_CAUSES, list({cause for _, cause in held}), refresh)
        log.info("alerts.inhibited", alerts=len(held), causes=len({cause for _, cause in held}))

    async def _late_for(self, connection: Connection, destination: str) -> list[tuple[int, UUID]]:
        """The alerts of lateness that something late upstream explains, each with its cause."""
        kinds = sorted(LATE_KINDS)
        rows = await connection.fetch(statements.HOLDABLE, destination, kinds)
        late = [_late(dict(row)) for row in await connection.fetch(statements.OPEN_LATENESS, kinds)] if rows else []
        if not late:
            return []
        causes = causes_of((_late(dict(row)) for row in rows), late, await self._lineage_of(connection))
        return [(row["alert_id"], causes[row["incident_id"]]) for row in rows if row["incident_id"] in causes]

    async def _failed_for(self, connection: Connection, destination: str) -> list[tuple[int, UUID]]:
        """The alerts of failures that the failure of a run further down explains, each with its cause."""
        rows = await connection.fetch(statements.HOLDABLE, destination, ["failure"])
        if not rows:
            return []
        pairs = await connection.fetch(statements.FAILED_BELOW, [row["incident_id"] for row in rows])
        causes = causes_below(Follows(**dict(pair)) for pair in pairs)
        return [(row["alert_id"], causes[row["incident_id"]]) for row in rows if row["incident_id"] in causes]

    async def watch_storm(self, connection: Connection, destination: str) -> None:
        """Begin a storm when there is too much to tell, end it when there is less than half of that again."""
        new = await connection.fetchval(statements.NEW_INCIDENTS, destination, self.timing.digest_window)
        storm = await connection.fetchval(statements.OPEN_STORM, destination)
        if storm is None and new > self.timing.digest_above:
            storm = await connection.fetchval(statements.BEGIN_STORM, destination)
            log.warning("storm.began", destination=destination, storm=storm, incidents=new)
        elif storm is not None and new <= self.timing.digest_above // 2:
            await connection.execute(statements.END_STORM, storm)
            await connection.execute(statements.REFRESH_STORM, storm)
            log.info("storm.ended", destination=destination, storm=storm)
            return
        if storm is not None:
            await connection.execute(statements.SWEEP, destination, storm, group_key_of(None, None, storm))

    async def _lineage_of(self, connection: Connection) -> Lineage:
        version = tuple(await connection.fetchrow(statements.LINEAGE_VERSION) or ())
        if version != self._version:
            self._lineage = Lineage([_reads(dict(row)) for row in await connection.fetch(statements.LINEAGE)])
            self._version = version
        return self._lineage


Address = tuple[int, str, str, int | None]


def addresses(rows: Iterable[Mapping[str, Any]], rules: Sequence[Rule], default: str) -> list[Address]:
    """Id, destination, group and storm of each alert; rows of one incident come in their order.

    An incident that got worse may belong elsewhere, its end belongs where it was last told; what became of it in a
    storm stays with that.
    """
    found: list[Address] = []
    told: dict[UUID, tuple[str, int | None]] = {}
    for row in rows:
        earlier = told.get(row["incident_id"])
        if earlier is None and row["told_at"] is not None:
            earlier = (row["told_at"], row["told_in"])
        traits = Traits(row["pipeline"], row["owner"], row["type"], row["kind"], row["severity"])
        stays = earlier is not None and (row["quiet"] or row["transition"] not in ("opened", "updated"))
        destination = earlier[0] if stays and earlier else destination_of(traits, rules, default)
        storm = row["storm_id"] or (earlier[1] if earlier is not None and earlier[0] == destination else None)
        told[row["incident_id"]] = (destination, storm)
        found.append((row["alert_id"], destination, group_key_of(row["pipeline"], row["owner"], storm), storm))
    return found


def group_key_of(pipeline: str | None, owner: str | None, storm: int | None) -> str:
    """What alerts that are told together have in common, as one text."""
    return json.dumps([pipeline, owner] if storm is None else {"storm": storm})


def _late(row: Mapping[str, Any]) -> Late:
    return Late(row["opened_at"], row["incident_id"], row["pipeline"])


def _reads(row: Mapping[str, Any]) -> Reads:
    return Reads(row["pipeline"], _datasets(row["sources"]), _datasets(row["targets"]))


def _datasets(declared: str | None) -> frozenset[str]:
    places = json.loads(declared or "[]") or []
    return frozenset(json.dumps([each.get("group"), each.get("type"), each.get("name")]) for each in places)
