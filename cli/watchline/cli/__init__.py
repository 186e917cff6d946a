"""The command line: the one place that may import every other part."""
