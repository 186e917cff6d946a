"""Making the state of the streams anew from Postgres, where the log no longer reaches back."""
