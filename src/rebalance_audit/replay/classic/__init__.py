"""Classic groups in the log: `rules` says what record type 2 does to them, `work` what their members have.

Only finished generations are recorded. The phases of a rebalance are soft state: `coordinator.classic`.
"""
