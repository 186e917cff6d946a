"""A run under load in which everything is killed, frozen, cut off and fed with rubbish, as a seed schedules it."""
