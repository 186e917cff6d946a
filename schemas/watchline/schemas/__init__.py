"""The contract: what travels between jobs, streams, sink and notifier."""
