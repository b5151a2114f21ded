"""KIP-848's client side mode, in which a member computes the target assignment. No Kafka release has it."""
