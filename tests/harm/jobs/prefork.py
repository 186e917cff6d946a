"""A server that reports, forks its workers, and ends them by SIGTERM, which they handle themselves."""

import os
import signal
import sys
from types import FrameType

from harm.reporting import open_pipeline, orders


def leave(number: int, frame: FrameType | None) -> None:
    """What servers do."""
    sys.exit(42)


with orders.run():
    pass
ready, tell = os.pipe()
workers = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, leave)
        with open_pipeline("request").run():
            os.write(tell, b".")
            while True:
                signal.pause()
    workers.append(pid)
for _ in workers:
    os.read(ready, 1)
for pid in workers:
    os.kill(pid, signal.SIGTERM)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers])
