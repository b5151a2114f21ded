"""Hand-made requests to a real broker: each story holds all else still, so the reason of an epoch is known."""
