"""The classic protocol, where the leader assigns: handlers, and the phases of a rebalance as soft state.

`handlers` takes the requests, `joining` and `membership` serve them, `rebalance` has the join and sync phases and the
records, `live_group` is the state of a group, `states` the table of transitions.
"""
