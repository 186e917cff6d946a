"""Every override of faust-streaming 0.15.3's internals, each beside the defect that it mends.

`make_app` builds an application with all of them in place. `tests/streams/transport` runs each of them
against the stock class and shows the defect.
"""

from watchline.streams.transport.app import StreamsApp, make_app
from watchline.streams.transport.producer import RawRecord, hand_over, send_all
from watchline.streams.transport.stream import BatchStream
from watchline.streams.transport.table import StateTable

__all__ = [
    "BatchStream",
    "RawRecord",
    "StateTable",
    "StreamsApp",
    "hand_over",
    "make_app",
    "send_all",
]
