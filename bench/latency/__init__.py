"""How long it takes from the end of a run to its row in Postgres, and from a failure to the request to Slack."""
