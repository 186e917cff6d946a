"""Workers of multiprocessing, started in every way there is."""

import multiprocessing

from harm.reporting import open_pipeline, orders


def work(number: int) -> int:
    """One run."""
    with open_pipeline("worker").run() as run:
        run.add(inserts=number)
    return number * number


if __name__ == "__main__":
    with orders.run():
        pass
    for name in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(name).Pool(1) as pool:
            print(pool.map(work, range(3)))
            pool.close()
            pool.join()
