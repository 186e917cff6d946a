"""Watches Watchline itself: whether what jobs say still arrives, and what may be said of absence while it does not."""
