"""A broker and a database as child processes of the command line: for trying Watchline, and for its tests."""
