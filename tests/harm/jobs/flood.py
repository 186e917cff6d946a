"""Events without end, faster than anybody takes them. Argument: how many."""

import sys
import time

from harm.reporting import client, resident_kib, write_down

TYPES = ("run.started", "run.heartbeat", "run.ended")
RUN = "018f0000-0000-7000-8000-000000000000"
count = int(sys.argv[1])
for _ in range(10):
    began = time.monotonic()
    for number in range(count // 10):
        client.emit({"event_type": TYPES[number % 3], "pipeline": "orders", "run_id": RUN})
    write_down("tenths.jsonl", {"seconds": time.monotonic() - began, "kib": resident_kib("VmRSS")})
print(count)
