"""Ports that somebody asked for."""

from __future__ import annotations

import socket

from watchline.schemas.errors import Misconfigured


def require_free(port: int | None, option: str) -> None:
    """Misconfigured, naming the option, when somebody listens on 127.0.0.1:`port` already."""
    if port is None:
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was just given up is free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            hint = f"choose another one, or leave {option} out for a free one"
            raise Misconfigured(f"port {port} can't be used: {error.strerror}", hint=hint) from error
