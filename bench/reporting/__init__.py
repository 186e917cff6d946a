"""How fast the views of the schema `reporting` answer at size, and how fast the sink writes there."""
