"""Classic groups in the log: `group` is their state, `rules` what record type 2 does to it.

Only finished generations are recorded. The phases of a rebalance are soft state: `coordinator.classic`.
"""
