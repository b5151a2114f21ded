"""Classic groups: each record is the snapshot of a finished generation."""
