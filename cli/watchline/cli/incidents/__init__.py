"""Incidents on the command line: look at them, and decide about them."""
