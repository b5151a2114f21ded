"""Consumer, share and streams groups: each record is a difference."""
