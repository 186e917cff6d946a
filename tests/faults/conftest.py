"""What the fault tests share; most of them run only in `make faults`."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest

from brokers.kinds import Broker
from faults.judged import Judged, write_judged
from watchline.schemas import Topics


@pytest.fixture(scope="session")
def judged(broker: Broker) -> Judged:
    """A log of verdicts; every test reads it anew into a database of its own."""
    return asyncio.run(write_judged(broker.bootstrap_servers, Topics(prefix=f"t{uuid4().hex[:12]}")))
