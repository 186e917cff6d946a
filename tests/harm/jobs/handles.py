"""SIGTERM in a run, with a handler of the job's own."""

import os
import signal
import sys
import time
from types import FrameType

from harm.reporting import orders


def leave(number: int, frame: FrameType | None) -> None:
    """What the job wants."""
    print("handled")
    sys.exit(42)


signal.signal(signal.SIGTERM, leave)
with orders.run():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
