"""Reason codes, the facts that each carries, and the one sentence of each.

The audit reports codes and facts; the words are here. This folder imports nothing of the audit, so the audit may use
it.
"""
