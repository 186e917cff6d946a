"""Writes down each event before it emits it and what the SDK knows of them after that, and dies. Argument: how."""

import os
import signal
import sys
from dataclasses import asdict
from uuid import uuid4

from harm.reporting import client, write_down

RUN = "018f0000-0000-7000-8000-000000000000"
for number in range(400):
    identity = str(uuid4())
    write_down("journal.jsonl", identity)
    client.emit({"event_id": identity, "event_type": "run.ended", "pipeline": "orders", "run_id": RUN})
    if number == 199:
        client.close()  # in the log or on disk
    write_down("counters.jsonl", asdict(client.counters()))
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
os._exit(9)
