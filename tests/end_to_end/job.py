"""A job as users write it: loads rows and reports its runs. Arguments: how many runs, rows of the last one, `fail`."""

import sys

from watchline.sdk import Pipeline, Watchline

orders = Watchline().pipeline(Pipeline(name="orders_daily", type="extraction", owner="sales"))


def load(rows: int) -> None:
    with orders.run() as run:
        run.add(inserts=rows, total_rows=rows)
        run.advance("2026-11-30")


def main(runs: int, last: int, *, fail: bool) -> None:
    for _ in range(runs):
        load(1000)
    load(last)
    if fail:
        with orders.run():
            raise RuntimeError("the source is gone & <!channel>")


main(int(sys.argv[1]), int(sys.argv[2]), fail="fail" in sys.argv)
