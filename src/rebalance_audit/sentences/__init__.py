"""Reason codes, the facts that each carries, and the one sentence of each.

The audit reports codes and facts; the words are here. Of the audit this folder knows only `Bounds`, so the audit may
use it.
"""
