"""Rows of gold.progress: what groups committed of each topic partition, minute by minute, with owner and lag.

A minute has a row if the group committed the partition in it, if the partition got an owner, or if its end offset was
sampled; not before the first commit, and not after the committed offset was deleted. Commits are ordered by the time
from which they count: a plain commit when it is written, one of a transaction from its COMMIT marker on. Of those that
count, the one with the highest log offset is the committed offset, as in Kafka's
`OffsetMetadataManager.replayEndTransactionMarker`.

99 of 100 records are offset commits, so they stay columns: this folder is the part of the audit with NumPy.
"""
