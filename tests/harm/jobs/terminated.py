"""SIGTERM in a run, with nobody to handle it."""

import os
import signal
import time

from harm.reporting import orders

with orders.run():
    print("waiting", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
