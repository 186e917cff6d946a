"""Leaves by sys.exit in a run."""

import sys

from harm.reporting import orders

with orders.run():
    print("leaving", file=sys.stderr)
    sys.exit(3)
