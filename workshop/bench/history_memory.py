"""What a history of a million records leaves in memory: `python -m workshop.bench.history_memory --records 1000000`.

One group of each protocol, and one that never comes to rest, in one process after the other; clients come once and go,
under new ids, names and hosts.
Prints what Python's allocator holds for the audit, what the process takes, and the size of a snapshot on the way.
"""

import argparse
import gc
import resource
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import get_context
from typing import Final

import orjson

from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.snapshots.snapshot import snapshot_of
from tests.audit.group.histories import (
    Write,
    classic_history,
    consumer_history,
    numbered,
    restless_history,
)
from tests.dsl import GROUP_ID

HISTORIES: Final[Mapping[str, Callable[[], Iterator[Write]]]] = {
    "classic": classic_history,
    "consumer": consumer_history,
    "restless": restless_history,
}
SHARES: Final = (0.01, 0.1, 0.5, 1.0)
"""Where on the way it is measured."""


def main() -> None:
    """Measure one history of each protocol, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--histories", nargs="+", choices=HISTORIES, default=list(HISTORIES))
    parser.add_argument(
        "--traced", action="store_true", help="count objects too: four times slower"
    )
    asked = parser.parse_args()
    for name in asked.histories:
        process = get_context("spawn").Process(
            target=measure, args=(name, asked.records), kwargs={"traced": asked.traced}
        )
        process.start()
        process.join()


def measure(name: str, total: int, *, traced: bool) -> None:
    """Feed `total` records of a history and print what is held at each of `SHARES`."""
    emitted = 0

    def count(_table: str, _row: Row) -> None:
        nonlocal emitted
        emitted += 1

    if traced:
        tracemalloc.start()
    audit = GroupAudit(GROUP_ID, 0, count)
    stops = {int(total * share) for share in SHARES}
    for number, (record, position) in enumerate(numbered(HISTORIES[name]()), 1):
        audit.feed(record, position)
        if number in stops:
            gc.collect()  # what stands in circles is no longer held
            kept = f" {tracemalloc.get_traced_memory()[0] / 1024:10,.0f} KiB held" if traced else ""
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            snapshot = len(orjson.dumps(snapshot_of(audit)))
            sys.stdout.write(
                f"{name:10} {number:10,} records {emitted:11,} rows{kept} {peak:8.1f} MiB at most"
                f" {snapshot:8,} bytes of snapshot\n"
            )
            sys.stdout.flush()
        if number >= total:
            return


if __name__ == "__main__":
    main()
