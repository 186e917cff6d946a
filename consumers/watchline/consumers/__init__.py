"""What reads the streams' findings: the sink into Postgres and the notifier out of it."""
