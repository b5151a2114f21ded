"""Which logs of `__consumer_offsets` real brokers load: logs with one fault each, and what brokers did with them."""
