"""The demo: real CI runs, replayed through the whole of Watchline, and what was found in them."""
