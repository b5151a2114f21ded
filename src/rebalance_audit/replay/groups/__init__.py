"""State of groups of all types, as records leave it."""
