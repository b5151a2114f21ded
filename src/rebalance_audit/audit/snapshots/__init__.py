"""Snapshots: an audit's state as bytes, and back."""
