"""Offset commits as evidence: who was alive when, and when work stopped."""
