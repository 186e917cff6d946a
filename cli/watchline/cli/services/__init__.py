"""The three services as commands, and how they start and stop."""
