"""Who the members of a group are, and what has been seen of each."""
