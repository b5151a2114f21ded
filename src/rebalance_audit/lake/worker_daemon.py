"""What forks Spark's Python workers on this machine: it has imported what they all need, so none of them has to.

Spark's own imports nothing of ours: each new worker would take a second of processor time for Arrow, numpy and the
audit before it sees its first record.
"""

import gc
import sys

# Spark puts itself on the path as a zip, in front of the same pyspark beside our packages. With each task a worker
# forgets what it knew of places to import from, and of a zip it reads the directory again for each of its packages.
sys.path.sort(key=lambda place: place.endswith(".zip"))

import pandas as pd
from pyspark import daemon

from rebalance_audit.lake.gold import reducer
from rebalance_audit.lake.records import commit_columns, segment_rows

# Arrow imports pandas with the first list that it is given.
PRELOADED = (commit_columns, pd, reducer, segment_rows)

if __name__ == "__main__":
    # A collection in a worker would touch, and so copy, every page that it shares with its siblings.
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]  # pyspark has no types for it
