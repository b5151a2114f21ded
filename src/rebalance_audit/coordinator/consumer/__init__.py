"""Handlers of the consumer protocol (KIP-848): what makes the records of consumer groups."""
