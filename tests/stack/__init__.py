"""The services as processes against a real broker and database, and what they must end up with."""
