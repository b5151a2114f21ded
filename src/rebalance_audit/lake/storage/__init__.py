"""Delta tables of a lake: where they are, how they are created, read, written and locked."""
