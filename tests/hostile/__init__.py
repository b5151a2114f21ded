"""Attacks, each as a small generator, and how they end."""
