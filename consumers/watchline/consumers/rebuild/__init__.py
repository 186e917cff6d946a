"""Folding the log into fresh tables and putting them in the place of the old ones."""

from watchline.consumers.rebuild.service import Outcome, Report, Wanted, drop_old, estimate, rebuild

__all__ = ["Outcome", "Report", "Wanted", "drop_old", "estimate", "rebuild"]
