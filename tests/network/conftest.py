"""Bare connections for the tests of the proxies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from network.peers import Client
from network.proxy import Proxy


@pytest.fixture
def connect(proxy: Proxy) -> Iterator[Callable[[], Client]]:
    """New connections to `proxy`, which the module defines."""
    made: list[Client] = []

    def make() -> Client:
        made.append(Client(proxy.port))
        return made[-1]

    yield make
    for client in made:
        client.close()
