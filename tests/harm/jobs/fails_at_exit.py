"""Handlers that fail at exit, before and after ours."""

import atexit

from harm.reporting import orders


def fail() -> None:
    """What others do at exit."""
    raise RuntimeError("at exit")


atexit.register(fail)
with orders.run():
    pass
atexit.register(fail)
print("done")
