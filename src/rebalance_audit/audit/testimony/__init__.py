"""What brokers' logs prove about the epochs and generations of a group."""
