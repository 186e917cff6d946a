"""Signs that the whole loop works, from the pulse in Kafka to the notifier: what the dead man's switch goes by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from watchline.consumers.database import Session

# An alert that should have been told long ago, or one that was given up while its incident goes on.
STUCK = """
select exists (select from alert_outbox where state = 'pending' and (next_attempt_at <= now() - $1::interval
        or (attempts > 0 and created_at <= now() - $1::interval)))
    or exists (select from alert_outbox o where state = 'failed' and transition <> 'resolved'
        and next_attempt_at < 'infinity' and not exists (select from alert_outbox later
            where later.incident_id = o.incident_id and later.transition_no > o.transition_no))
"""


@dataclass(slots=True)
class Vitals:
    """When each half of the loop was last seen to work, by the monotonic clock (seconds); None: it was not."""

    ingested_at: float | None = None  # fresh pulses of every partition stood in Postgres, and no alert was stuck
    passed_at: float | None = None  # the notifier came to the end of its loop

    def works(self, now: float, *, look: float, passage: float) -> bool:
        """Whether both were seen lately: within `look` and `passage` seconds."""
        return (
            self.ingested_at is not None and now - self.ingested_at <= look
            and self.passed_at is not None and now - self.passed_at <= passage
        )  # fmt: skip


async def is_stuck(connection: Session, longest: timedelta) -> bool:
    """Whether an alert that could be sent was not for `longest`, or none of its tries was accepted."""
    return bool(await connection.fetchval(STUCK, longest))
