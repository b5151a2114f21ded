"""One epoch or generation while it lasts: what it began with, and what its target moves."""
