"""What the SDK may cost a job, whatever happens to Kafka."""

from __future__ import annotations

from harm.lives import Life

# Promised: an exit takes 2 s more at most. The rest is for a machine that does ten other things: these are no
# measurements (bench/ has those), they tell a delay that is bounded from one that is not: Kafka's client gives an
# address up after 10 s.
EXIT_SECONDS = 2.0
BUSY_SECONDS = 4.0
# aiokafka takes 25 MiB and a full buffer 10 to 16; of an unbounded one the flood alone would take 200.
ADDED_KIB = 80 * 1024


def assert_unharmed(watched: Life, bare: Life) -> None:
    """Same exit code, stdout, and stderr but for our logger's lines; a bounded exit and bounded memory."""
    assert watched.seen == bare.seen
    assert watched.leaving_seconds < EXIT_SECONDS + BUSY_SECONDS
    assert watched.peak_kib - bare.peak_kib < ADDED_KIB
