"""Causes: what set off an epoch, and how sure that is."""
