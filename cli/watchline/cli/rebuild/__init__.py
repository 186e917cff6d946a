"""The tables made anew from the log, and what is said about it."""
