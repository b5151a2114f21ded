"""The audit of one group: its epochs, rebalances, members, ownership and states as rows."""
