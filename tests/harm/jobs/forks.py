"""Children that report runs of their own and leave in two ways, amid a run of the parent."""

import os
import sys
import threading

threads: list[int] = []
os.register_at_fork(before=lambda: threads.append(threading.active_count()))  # before others can: it comes last

from harm.reporting import client, open_pipeline, orders  # noqa: E402 - see above

codes = []
with orders.run() as run:
    client.flush(10.0)  # so that the thread is past loading Kafka's client
    for number in range(4):
        pid = os.fork()
        if pid == 0:
            with open_pipeline(f"child{number}").run() as own:
                own.add(inserts=number)
            client.flush()
            if number % 2:
                sys.exit(number)
            client.close()
            os._exit(number)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    run.add(inserts=sum(codes))
print(codes, threads)
