"""What forks Spark's Python workers on this machine: it has imported what they all need, so none of them has to.

Spark's own imports nothing of ours: each new worker would take a second of processor time for Arrow, numpy and the
audit before it sees its first record.
"""

import gc

from pyspark import daemon

from rebalance_audit.lake import commit_columns, reducer, segment_rows

PRELOADED = (commit_columns, reducer, segment_rows)

if __name__ == "__main__":
    # A collection in a worker would touch, and so copy, every page that it shares with its siblings.
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]  # pyspark has no types for it
