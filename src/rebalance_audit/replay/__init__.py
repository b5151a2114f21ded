"""Hard state: what the records of `__consumer_offsets` say of a group. Records in, state and changes out.

Nothing else changes the state of a group. Production needs no more of the coordinator than this; the package
`coordinator` makes the records.
"""
