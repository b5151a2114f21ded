"""Streams groups (KIP-1071): tasks of a topology, which all members have in common, are assigned by the coordinator."""
