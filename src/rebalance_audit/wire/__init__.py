"""Bytes and records: segments and batches, keys and values, the embedded client protocol."""
