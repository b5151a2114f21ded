"""What rebalances, groups and findings amount to: each figure once, for every surface that shows it."""
