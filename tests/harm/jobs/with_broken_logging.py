"""Logs by a handler that fails."""

import logging

from harm.reporting import orders


class Failing(logging.Handler):
    """What a log server that is away may do."""

    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError("the log server is away")


logging.getLogger().addHandler(Failing())
with orders.run(no_such_option=1) as run:
    run.add(inserts="many")
print("done")
