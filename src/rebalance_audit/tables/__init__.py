"""The output tables as objects: their schemas, checks and keys, the order, shape and Arrow types of their rows."""
