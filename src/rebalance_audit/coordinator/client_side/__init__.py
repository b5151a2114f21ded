"""KIP-848's client side mode, in which a member computes the target. No Kafka release has it.

Here is what it decides and remembers; `consumer.client_assignment` serves its requests.
"""
