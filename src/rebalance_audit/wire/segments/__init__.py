"""Segment files: folders, batches, records and their columns."""
