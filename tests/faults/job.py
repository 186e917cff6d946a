"""A job that reports runs for a while. Arguments: the name of its pipeline, how many runs."""

import sys
import time

from watchline.sdk import Pipeline, Watchline

pipeline = Watchline().pipeline(Pipeline(name=sys.argv[1]))
for _ in range(int(sys.argv[2])):
    with pipeline.run() as run:
        run.add(inserts=1)
    time.sleep(0.01)  # many batches, and not one
print("done")
