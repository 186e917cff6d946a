"""Benchmarks: throughput, latency and detection quality; run each with `python -m bench.<name>`."""
