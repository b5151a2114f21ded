"""A plan for what to do after a coordinator could not load a partition of `__consumer_offsets`."""
