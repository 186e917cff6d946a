create index runs_started on runs (started_at)
