"""Python runs this at the start of every process that has this folder on its PYTHONPATH: it plants one bug there."""

import importlib
import os

if "WATCHLINE_TEST_MUTANT" in os.environ:
    part, _, name = os.environ["WATCHLINE_TEST_MUTANT"].partition(".")
    getattr(importlib.import_module(f"faults.mutants.{part}"), name)()
