"""Expected starts: when a scheduled pipeline should run, which run came for it, and that none did."""
