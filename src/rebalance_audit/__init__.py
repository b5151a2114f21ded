"""Audit of Kafka consumer-group rebalances from the records of `__consumer_offsets`."""

__version__ = "0.1.0"
