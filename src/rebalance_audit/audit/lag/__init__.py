"""Offsets of topic partitions beside commits: lag, and what a rebalance cost in records."""
