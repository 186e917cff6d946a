"""An exception that nobody catches."""

from harm.reporting import orders

with orders.run():
    raise ValueError("no rows")
