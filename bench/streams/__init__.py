"""CPU per event of the streams."""
