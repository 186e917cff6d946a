"""Looking at a Watchline from outside: settings, Kafka, Postgres, lag, alerts."""
