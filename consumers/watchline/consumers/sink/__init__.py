"""Kafka to Postgres: canonical rows, findings, incidents and dead letters, with their offsets in one transaction."""
