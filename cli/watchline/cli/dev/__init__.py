"""Everything on one machine: the parts as child processes, started in order and watched."""
