"""A run under load in which everything is killed, frozen, cut off and fed with rubbish, by a schedule that a seed fixes."""
