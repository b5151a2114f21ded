"""What the audit says of an event: its cause, how certain that is, and the evidence."""
