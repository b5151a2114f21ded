"""Simulated brokers: their logs on disk, their answers and their `server.log`."""
