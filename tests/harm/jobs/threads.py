"""Eight threads at work, one that goes on after the main thread, and a daemon that is cut off in a run."""

import threading

from harm.reporting import orders

results: list[int] = []
waiting = threading.Event()


def work(number: int) -> None:
    """Some runs."""
    for _ in range(25):
        with orders.run():
            results.append(number)


def stay() -> None:
    """Wait for the end of the main thread."""
    threading.main_thread().join()
    with orders.run():
        print("late")


def hang() -> None:
    """Be cut off."""
    with orders.run():
        waiting.set()
        threading.Event().wait()


threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
threading.Thread(target=stay).start()
threading.Thread(target=hang, daemon=True).start()
waiting.wait()
print(sum(results))
