"""A log that is being written: what is new in it, and the rebalances that end meanwhile."""
