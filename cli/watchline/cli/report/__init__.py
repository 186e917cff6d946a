"""What the views of `reporting` say, as tables for people and as CSV, JSON or Markdown for programs."""
