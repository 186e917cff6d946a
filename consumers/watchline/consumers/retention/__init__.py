"""What becomes of rows that have grown old: after a number of days they are deleted, unless something needs them."""
