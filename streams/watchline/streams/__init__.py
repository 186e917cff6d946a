"""The Faust application: pure folds of the event log, and the agents around them."""
