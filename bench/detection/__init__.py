"""Detection quality: PipeBench (synthetic run histories) and RealBench (real ones), both with injected events."""
