"""bronze: the log as it was, and how much of it is there."""
