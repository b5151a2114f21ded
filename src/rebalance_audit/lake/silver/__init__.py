"""silver: records decoded into readable columns."""
