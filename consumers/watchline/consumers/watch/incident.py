"""The one incident that ingestion can have, and what changes it: pure functions.

Its rows do not come from the log. Their revision is 0, which no row of the log has (those begin at 1), so the sink can
neither meet nor replace them, and whoever rebuilds the tables from the log knows what to keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal
from uuid import UUID

from watchline.consumers.watch.health import Cause, Health
from watchline.schemas.records import IncidentFact, IncidentRecord

PIPELINE, KIND = "watchline", "ingestion"
FINGERPRINT = sha256("\0".join((PIPELINE, KIND, "")).encode()).hexdigest()[:32]  # made as those of the streams are
REVISION = 0
MIN_BETWEEN_UPDATES = timedelta(minutes=1)
MAX_NAMED = 10  # partitions; of more, all of them count as ill
PARTITION = "partition"


def next_transition(
    opened: IncidentRecord | None, health: Health, partitions: int, now: datetime, new_id: UUID
) -> IncidentRecord | None:
    """The transition that brings the incident `opened` (its newest record) to `health`; None when there is none.

    `partitions` is how many there are, `new_id` the id that a new incident gets.
    """
    if opened is None:
        return opening(health, partitions, now, new_id) if health.ill else None
    if not health.ill:
        return resolving(opened, health.since or now, now)
    facts = facts_of(health.causes, partitions)
    if not health.causes or places_of(facts) == places_of(opened.facts) or now - opened.at < MIN_BETWEEN_UPDATES:
        return None
    severities = {opened.severity, severity_of(health.causes, partitions)}
    return opened.model_copy(
        update={
            "transition": "updated", "transition_no": opened.transition_no + 1, "at": now, "facts": facts,
            "severity": "fail" if "fail" in severities else "warn", "title": title_of(health.causes, partitions),
        }
    )  # fmt: skip


def opening(health: Health, partitions: int, now: datetime, new_id: UUID) -> IncidentRecord:
    """The incident as it opens; it began when the first of its causes did."""
    since = health.since or now
    return IncidentRecord(
        pipeline=PIPELINE, revision=REVISION, incident_id=new_id, fingerprint=FINGERPRINT, kind="ingestion",
        transition="opened", transition_no=1, severity=severity_of(health.causes, partitions), at=now,
        opened_at=min(since, now), cause_at=min(since, now), title=title_of(health.causes, partitions),
        facts=facts_of(health.causes, partitions),
    )  # fmt: skip


def resolving(opened: IncidentRecord, well_since: datetime, now: datetime) -> IncidentRecord:
    """Its end, named after how long it lasted; `well_since` is before the time that was waited for it to last."""
    resolved_at = max(well_since, opened.opened_at)
    gap = (resolved_at - opened.opened_at).total_seconds()
    return opened.model_copy(
        update={
            "transition": "resolved", "transition_no": opened.transition_no + 1, "at": now,
            "resolved_at": resolved_at, "resolve_reason": "recovered",
            "title": f"ingestion gap {span(gap)}",
        }
    )  # fmt: skip


def severity_of(causes: Sequence[Cause], partitions: int) -> Literal["warn", "fail"]:
    """fail when something is silent, or everything late; warn when some partitions are late, or little comes."""
    delayed = sum(cause.kind == "delayed" for cause in causes)
    silent = any(cause.kind == "silent" for cause in causes)
    return "fail" if silent or delayed >= partitions else "warn"


def title_of(causes: Sequence[Cause], partitions: int) -> str:
    """What is wrong and since when, in a line; the gravest first."""
    parts = []
    if silent := [cause for cause in causes if cause.kind == "silent"]:
        parts.append(f"nothing arrives from {named(silent, partitions)} since {clock(min(it.since for it in silent))}")
    if delayed := [cause for cause in causes if cause.kind == "delayed"]:
        worst = max(cause.behind for cause in delayed).total_seconds()
        parts.append(f"{named(delayed, partitions)} {'is' if len(delayed) == 1 else 'are'} {span(worst)} behind")
    parts += [
        f"{cause.events:,} events in the hour from {clock(cause.since)}, usually {cause.usual:,.0f}"
        for cause in causes if cause.kind == "volume"
    ]  # fmt: skip
    return "; ".join(parts) or "ingestion is ill"


def facts_of(causes: Sequence[Cause], partitions: int) -> tuple[IncidentFact, ...]:
    """One fact a partition, by its number, while there are few; one for all of them, and for the volume, otherwise."""
    placed = [cause for cause in causes if cause.partition is not None]
    every = len(placed) >= partitions or len(placed) > MAX_NAMED
    if every:
        first = min(cause.since for cause in placed)
        facts = [IncidentFact(name="partitions", value=len(placed), note=f"of {partitions}, since {clock(first)}")]
    else:
        facts = [IncidentFact(name=PARTITION, value=cause.partition, note=note_of(cause)) for cause in placed]
    return (*facts, *(volume_fact(cause) for cause in causes if cause.kind == "volume"))


def note_of(cause: Cause) -> str:
    if cause.kind == "silent":
        return f"silent since {clock(cause.since)}"
    return f"{span(cause.behind.total_seconds())} behind"


def volume_fact(cause: Cause) -> IncidentFact:
    note = f"in the hour from {clock(cause.since)}; usual at this hour of the week"
    return IncidentFact(name="events", value=cause.events, expected=cause.usual, note=note)


def places_of(facts: Sequence[IncidentFact]) -> set[tuple[str, object]]:
    """What is ill according to the facts, without how ill."""
    return {(fact.name, fact.value if fact.name == PARTITION else None) for fact in facts}


def ill_partitions(facts: Sequence[IncidentFact]) -> frozenset[int] | None:
    """The partitions of which absence can't be told; None: of all."""
    if not facts or any(fact.name != PARTITION for fact in facts):
        return None
    return frozenset(int(fact.value) for fact in facts if isinstance(fact.value, int | float))


def named(causes: Sequence[Cause], partitions: int) -> str:
    """`partition 3`, `partitions 1, 2`, `all 8 partitions`."""
    if len(causes) >= partitions > 1:
        return f"all {partitions} partitions"
    if len(causes) > MAX_NAMED:
        return f"{len(causes)} of {partitions} partitions"
    numbers = ", ".join(str(cause.partition) for cause in causes)
    return f"partition {numbers}" if len(causes) == 1 else f"partitions {numbers}"


def span(seconds: float) -> str:
    """A length of time as one says it: `45 s`, `20 min`, `3 h 5 min`."""
    if seconds < 60:
        return f"{max(0, round(seconds))} s"
    minutes = round(seconds / 60)
    hours, rest = divmod(minutes, 60)
    return f"{minutes} min" if not hours else f"{hours} h {rest} min" if rest else f"{hours} h"


def clock(at: datetime) -> str:
    """`2026-11-30 10:05 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
