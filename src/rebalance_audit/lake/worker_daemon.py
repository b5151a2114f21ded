"""The daemon that forks Spark's Python workers on this machine: it imports what they all need, so they need not.

Spark's own daemon imports nothing of ours: each new worker would spend a second of processor time on importing Arrow,
numpy and the audit before it sees its first record.
"""

import gc
import sys

# Spark puts itself on the path as a zip, before the same pyspark that is installed beside our packages. With each task
# a worker drops its import caches, and then reads the zip's directory again for each package in it.
sys.path.sort(key=lambda place: place.endswith(".zip"))

import pandas as pd
from pyspark import daemon

from rebalance_audit.lake.gold import reducer
from rebalance_audit.lake.records import commit_columns, segment_rows

# Arrow imports pandas when it converts its first list.
PRELOADED = (commit_columns, pd, reducer, segment_rows)

if __name__ == "__main__":
    # A garbage collection in a worker would write to, and so copy, every page that it shares with the other workers.
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]  # pyspark has no types for it
