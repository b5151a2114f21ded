"""Causes: what set off an epoch, and how certain that is."""
