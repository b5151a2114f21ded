"""The daemon that forks Spark's Python workers on this machine: it imports what they all need, so they need not.

Spark's own daemon imports nothing of ours: each new worker would spend a second of processor time on importing Arrow,
numpy and the audit before it sees its first record.
"""

import gc
import re
import sys
from typing import Final

# Spark puts itself on the path as archives, before the same pyspark that is installed beside our packages.
sys.path.sort(key=lambda place: place.endswith((".zip", ".jar")))

import pandas as pd
import py4j
from pyspark import daemon

from rebalance_audit.lake.gold import reducer
from rebalance_audit.lake.records import commit_columns, segment_rows

# Arrow imports pandas when it converts its first list.
PRELOADED = (commit_columns, pd, reducer, segment_rows)
OF_SPARK: Final = re.compile(r"[\\/]((pyspark|py4j-[^\\/]*)\.zip|spark-core[^\\/]*\.jar)\b")


def leave_out_archives() -> None:
    """Take Spark's own archives off the path, unless pyspark is imported from them.

    With each task a worker drops its import caches, and Python then reads the directories of all archives on the path
    again: 7,000 entries, 40 ms of processor time.
    """
    if OF_SPARK.search(f"{daemon.__file__} {py4j.__file__}") is None:
        sys.path[:] = (place for place in sys.path if OF_SPARK.search(place) is None)
        for place in filter(OF_SPARK.search, list(sys.path_importer_cache)):
            del sys.path_importer_cache[place]


if __name__ == "__main__":
    leave_out_archives()
    # A garbage collection in a worker would write to, and so copy, every page that it shares with the other workers.
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]  # pyspark has no types for it
