"""What replay's changes mean: epochs, causes, convergence, ownership, members, rebalances and group states as rows."""
