"""Every invariant of the run by name: held, violated, or shown elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID
from zlib import crc32

from aiokafka import TopicPartition

from faults.chaos.commits import Commits
from faults.chaos.ground import Ground
from faults.chaos.harvest import fold_partition
from faults.chaos.journal import Journal
from faults.chaos.log import PARTITIONS
from faults.chaos.spool import Spool
from faults.invariants.alerts import alerts_delivered, delivered_once, no_false_alert
from faults.invariants.changelogs import Changelog
from faults.invariants.effects import accounted, conservation, dead_letters_whole, one_effect
from faults.invariants.heard import alerts_in
from faults.invariants.moments import Moment, atomic_visibility, fences_hold
from faults.invariants.plain import PlainFold
from faults.invariants.progress import durable_frontier, no_commit_ahead
from faults.invariants.spoken import said_in
from faults.invariants.stored import (
    EFFECTS,
    alerts_of,
    anomalies_of,
    incidents_of,
    letters_of,
    stream,
    unfit_values,
    watermarks_of,
)
from faults.invariants.tables import changelog_is_table, replay_equality
from faults.invariants.values import finite_values
from faults.invariants.violations import Violation, found
from slack.fake import Received
from stack.contents import RUNS
from stack.oracle import Expected
from watchline.streams.rows import RunsRow, decode_row, encode_row

BUCKET = 200_000  # identities held in memory at a time
TOLD = ("started", "ended", "watermark")
MORE = re.compile(r"and (\d+) more \(")
OF_PIPELINES = RUNS.replace(" from runs ", " from runs where pipeline = any($1) ")


@dataclass
class Evidence:
    """What the checks compare."""

    ground: Ground
    journal: Journal
    moments: Spool[Moment]
    watched: list[str]
    read_to: dict[TopicPartition, int]  # where the workers stood when they were stopped
    sink_told: dict[TopicPartition, int]  # what the sinks' group had committed then
    sink_stood: dict[TopicPartition, int]
    crashes: int  # faults that may repeat an alert
    commits: Commits
    violations: list[Violation] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    expected: Expected = field(default_factory=Expected)
    letters: dict[Any, Any] = field(default_factory=dict)
    watermarks: dict[Any, Any] = field(default_factory=dict)

    async def gather(self) -> None:
        """Check everything; what is violated is in `violations` afterwards."""
        changelog = await Changelog(self.ground.address, self.ground.topics).read()
        for number in range(PARTITIONS):
            await self._check_partition(number, changelog)
        await self._check_findings()
        await self._check_journal()
        await self._check_alerts()
        await self._check_moments(changelog)
        self._blame(no_commit_ahead(self.ground.topics.sink_group, self.sink_told, self.sink_stood))
        self._blame(finite_values(await unfit_values(self.ground.dsn)))
        self._blame(secrets_in(self.ground))

    async def _check_partition(self, number: int, changelog: Changelog) -> None:
        """I2, I3, I4, I5, I9 in one partition of the sources."""
        fold = await fold_partition(self.ground, number, self.read_to)
        rows = fold.tables["runs"].data
        held = {key: row for key, row in changelog.rows.items() if fold.partition_of(key) == number}
        names = [key.decode() for key in {*rows, *held}]
        stored = [(row[0], row) async for row in stream(self.ground.dsn, OF_PIPELINES, names)]
        self._blame(one_effect(fold.runs, stored, of="run"))
        self._blame(replay_equality(rows, held))
        homes = {key: places for key, places in changelog.homes.items() if key in held}
        as_read = {key: without_offset(row) for key, row in held.items()}
        folded = {key: without_offset(row) for key, row in rows.items()}
        self._blame(changelog_is_table(homes, as_read, folded, partition_of=fold.partition_of))
        self._check_commits(fold, changelog.absorbed)
        events = fold.events.get(TopicPartition(self.ground.topics.runs, number), [])
        self._blame(self.commits.ahead(number, events))
        self._blame(accounted(fold.accounts))
        self._keep(fold)

    def _check_commits(self, fold: PlainFold, absorbed: dict[bytes, int]) -> None:
        topic = self.ground.topics.runs
        places = [place for place in fold.accounts if place.topic == topic]
        told = {place: self.read_to[place] for place in places}
        durable = {place: durable_frontier(fold.events[place], absorbed, told[place]) for place in places}
        self._blame(no_commit_ahead(self.ground.topics.application, told, durable))

    def _keep(self, fold: PlainFold) -> None:
        self.expected.anomalies |= fold.expected.anomalies
        self.expected.incidents |= fold.expected.incidents
        self.letters |= fold.letters
        self.watermarks |= fold.watermarks
        for name, count in (
            ("runs", len(fold.runs)),
            ("anomalies", len(fold.expected.anomalies)),
            ("incidents", len(fold.expected.incidents)),
            ("dead letters", len(fold.letters)),
            ("events", sum(one.events for one in fold.accounts.values())),
            ("pulses", sum(one.pulses for one in fold.accounts.values())),
        ):
            self.counts[name] = self.counts.get(name, 0) + count

    async def _check_findings(self) -> None:
        """I2 and I9 in what is small enough to be compared at once."""
        dsn, topics = self.ground.dsn, self.ground.topics
        self._blame(one_effect(self.expected.anomalies, await anomalies_of(dsn), of="anomaly"))
        self._blame(one_effect(self.expected.incidents, await incidents_of(dsn), of="incident"))
        self._blame(one_effect(self.watermarks, await watermarks_of(dsn), of="watermark"))
        self._blame(dead_letters_whole(self.letters, await letters_of(dsn, topics.sources)))

    async def _check_journal(self) -> None:
        """I1: in as many turns as needed, each with a part of the identities."""
        turns = 1 + self.journal.counts["acknowledged"] // BUCKET
        for turn in range(turns):
            acked = set(bucket(self.journal.identities("acknowledged"), turn, turns))
            tried = set(bucket(self.journal.identities("tried"), turn, turns))
            rows = stream(self.ground.dsn, EFFECTS)
            stored = [one async for kind, identity in rows for one in bucket([f"{kind}:{identity}"], turn, turns)]
            self._blame(conservation(acked, tried, stored))
        places = {(o.topic, o.partition, o.offset) for o in self.letters}
        lost = (
            f"rubbish acknowledged at {one.place.topic}/{one.place.partition}/{one.offset} is in no dead letter"
            for one in self.journal.acknowledgements()
            if one.identity.startswith("rubbish") and (*one.place, one.offset) not in places
        )
        self._blame(found("I1", lost))

    async def _check_alerts(self) -> None:
        heard = alerts_in(self.ground.slack.accepted)
        expected = await alerts_of(self.ground.dsn)
        said = {(str(incident)[:8], number) for incident, number in await transitions_of(self.ground.dsn)}
        self.counts |= {
            "alerts": len(expected),
            "alerts heard": len(heard),
            "messages": len(self.ground.slack.accepted),
        }
        self.counts["alerts heard again"] = len(heard) - len(set(heard))
        unnamed, hidden = expected.difference(heard), sum(map(hidden_in, self.ground.slack.accepted))
        self.counts["alerts told by their number"] = len(unnamed)
        if len(unnamed) > hidden:  # a long message ends with how many more there are
            self._blame(alerts_delivered(expected, heard))
        self._blame(delivered_once(heard, crashes=self.crashes))
        self._blame(no_false_alert(said, heard))

    async def _check_moments(self, changelog: Changelog) -> None:
        said = await said_in(self.ground.address, self.ground.topics, self.watched)
        self.counts |= {"moments": self.moments.count, "looks at commits": self.commits.samples.count}
        self._blame(atomic_visibility(self.moments, said))
        self._blame(fences_hold(self.moments))
        self.counts["late rows in the changelog"] = len(changelog.late)

    def _blame(self, violations: Iterable[Violation]) -> None:
        self.violations += violations


async def transitions_of(dsn: str) -> list[tuple[UUID, int]]:
    """Every transition of every incident."""
    return [(row[0], row[1]) async for row in stream(dsn, "select incident_id, transition_no from incident_events")]


def without_offset(row: bytes) -> bytes:
    """A row but for the source offset it has absorbed, which depends on where batches ended."""
    read = decode_row(RunsRow, row)
    read.offset = 0
    return encode_row(read)


def bucket(identities: Iterable[str], turn: int, turns: int) -> Iterator[str]:
    """Those whose effect can be told in Postgres, of one turn."""
    return (one for one in identities if one.split(":")[0] in TOLD and crc32(one.encode()) % turns == turn)


def hidden_in(message: Received) -> int:
    """How many incidents a message tells of and does not name."""
    told = MORE.search(json.dumps(message.payload))
    return int(told[1]) if told else 0


def secrets_in(ground: Ground) -> list[Violation]:
    """I17, as far as logs go: neither the webhook nor the password of Postgres."""
    secrets = (ground.slack.path.encode(), ground.dsn.split(":")[2].split("@")[0].encode())
    logs: Iterator[Path] = ground.fleet.services.folder.glob("*.log")
    return found("I17", (f"a secret stands in {log.name}" for log in logs if holds(log, secrets)))


def holds(log: Path, secrets: Iterable[bytes]) -> bool:
    with log.open("rb") as lines:
        return any(secret in line for line in lines for secret in secrets)
