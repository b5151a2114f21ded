"""Consumer (KIP-848), share (KIP-932) and streams (KIP-1071) groups in the log: record types 3 to 24.

`rules` says which rule each record type has; those of assignments are in `assignments`. What the three group types do
differently is data in `kinds`, which also finds or makes the group that a record belongs to; `preferred_assignor` is
the one that most members name.
"""
