"""Simulated brokers: their logs on disk, what they answer and what they write to `server.log`."""
