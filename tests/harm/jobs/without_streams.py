"""Has closed its standard streams, as daemons do, so that nothing can be logged."""

import sys

from harm.reporting import orders

print("closing", flush=True)
sys.stderr.close()
with orders.run(labels={"wrong": object()}, no_such_option=1) as run:
    run.add(inserts="many", no_such_count=1)
print("still there", flush=True)
sys.stdout.close()
