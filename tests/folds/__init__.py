"""An in-memory log for tests of the folds: no broker, time as an argument."""
