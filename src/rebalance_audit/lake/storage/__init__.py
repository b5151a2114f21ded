"""Delta tables of a lake: where they are, how they are created, written, locked and looked after."""
