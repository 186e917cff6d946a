"""The first event of all comes when Python is on its way out, where since 3.12 no thread can begin."""

import atexit

from harm.reporting import orders


def report() -> None:
    """A run at exit."""
    with orders.run() as run:
        run.add(inserts=1)
    print("reported")


atexit.register(report)
print("done")
