"""Findings as messages for other systems."""
