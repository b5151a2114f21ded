"""Turns replay's changes into rows: epochs, causes, convergence, ownership, members, rebalances and group states."""
