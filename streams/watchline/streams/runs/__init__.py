"""The fold of the runs of one pipeline: merge, judge, watch, and say what changed."""
