"""Columns of records: segments and commits as Arrow batches, and which record goes where."""
