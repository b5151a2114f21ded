"""The classic protocol, where the leader assigns: handlers, and the phases of a rebalance as soft state.

`handlers` takes the requests, `joining` and `rebalance` are the join and sync phases, `live_group` is their state,
`states` the table of transitions, `records` what is written when a generation is complete.
"""
