"""Share groups (KIP-932): members of a group share the records of a partition, so assignments may overlap."""
