"""What a check says, and the rules by which a fact becomes ok, a warning or a failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from watchline.schemas.errors import WatchlineError

Outcome = Literal["ok", "warn", "fail"]
LAG_WARNING = 10_000
SKEW_WARNING_SECONDS = 5.0
TOPICS_HINT = "`watchline topics create` makes the missing ones; set WATCHLINE_PARTITIONS to the number that is there"
SKEW_FAILURE_SECONDS = 300.0  # from here on events are flagged and teach nothing


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the table."""

    name: str
    outcome: Outcome
    detail: str
    hint: str | None = None


def failure(name: str, error: WatchlineError) -> Check:
    """What went wrong, as a failed check."""
    return Check(name, "fail", str(error), error.hint)


def judge_topics(problems: Sequence[str], partitions: int) -> Check:
    """All topics must exist with equal partition counts."""
    if problems:
        return Check("topics", "fail", "; ".join(problems), TOPICS_HINT)
    return Check("topics", "ok", f"all there, {partitions} partitions each")


def judge_lag(who: str, behind: int | None) -> Check:
    """`behind` is in records, None when the consumer has never stored a position."""
    if behind is None:
        return Check(f"lag of {who}", "warn", "has not run yet", f"start it with `watchline {who}`")
    if behind > LAG_WARNING:
        hint = f"is a `watchline {who}` running? its log says what holds it up; more of them share the work"
        return Check(f"lag of {who}", "warn", f"{behind:,} records behind", hint)
    return Check(f"lag of {who}", "ok", f"{behind:,} records behind")


def judge_schema(applied: str | None, newest: str) -> Check:
    """`applied` is the revision in the database, None without any."""
    if applied == newest:
        return Check("schema", "ok", f"revision {applied}")
    detail = f"revision {applied} instead of {newest}" if applied else "no tables yet"
    return Check("schema", "fail", detail, "run `watchline migrate`")


def judge_permission(user: str, refused: Mapping[str, Sequence[str]]) -> Check:
    """`refused` are the rights that `user` lacks of those of each role; having all of one role's is enough."""
    served = [role for role, rights in refused.items() if not rights]
    if served:
        return Check("permission", "ok", f"{user} may do what {' and '.join(served)} may")
    lacking = "; ".join(f"of {role}: {', '.join(rights)}" for role, rights in refused.items())
    hint = " or ".join(f"GRANT {role} TO {user}" for role in refused)
    return Check("permission", "fail", f"{user} lacks rights {lacking}", f"{hint}; the roles: `watchline migrate`")


def judge_clock(skew_seconds: float) -> Check:
    """`skew_seconds` is the clock of Postgres minus ours."""
    detail = f"Postgres is {abs(skew_seconds):.1f} s {'ahead' if skew_seconds > 0 else 'behind'}"
    if abs(skew_seconds) < SKEW_WARNING_SECONDS:
        return Check("clock", "ok", detail)
    outcome: Outcome = "warn" if abs(skew_seconds) < SKEW_FAILURE_SECONDS else "fail"
    return Check("clock", outcome, detail, "synchronise the clocks by NTP")


def judge_slack(configured: bool) -> Check:
    """A channel or a webhook is looked at, never called."""
    if configured:
        return Check("Slack", "ok", "a channel or a webhook is configured; it was not called")
    hint = "set WATCHLINE_SLACK_CHANNEL beside a bot's token, or WATCHLINE_SLACK_WEBHOOK_URL, for the notifier"
    return Check(
        "Slack", "warn", "neither a channel nor a webhook: the notifier prints what no route takes to its stdout", hint
    )


def judge_alerts(pending: int, failed: int) -> Check:
    """Alerts in the outbox by state."""
    detail = f"{pending:,} waiting, {failed:,} given up"
    if failed:
        hint = "select last_error, count(*) from alert_outbox where state = 'failed' group by 1"
        return Check("alerts", "warn", detail, hint)
    return Check("alerts", "ok", detail)
