"""A monitor that counts nothing."""

from __future__ import annotations

from typing import Any

from faust.sensors.monitor import Monitor


class NullMonitor(Monitor):
    """Faust's built-in monitor keeps figures per event, table and partition that nobody reads; this one
    keeps none.

    Faust asks for a monitor everywhere, so there must be one.
    """

    def on_message_in(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_message_out(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_stream_event_in(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_stream_event_out(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_send_initiated(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_send_completed(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def on_tp_commit(self, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def track_tp_end_offset(self, *args: Any, **kwargs: Any) -> None:
        """Nothing; the stock method fails on an end offset of None, which a rebalance brings."""
