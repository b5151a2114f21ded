"""Files of `export`, over a lake with rows for every view."""

from pathlib import Path

from rebalance_audit.readers.export import export_gold
from rebalance_audit.readers.lake_reader import open_lake
from tests.cli.audited import audited_once
from tests.cli.call import segments
from tests.support.lake_without_spark import write_lake

HOUR_MS = 3_600_000
MORNING_MS = 1_795_251_600_000
"""The hour of the log."""


def exported(kind: str, folder: Path) -> Path:
    """The path of an export."""
    tables = dict(audited_once(segments("consumer-protocol")).tables)
    first, *others = tables["findings"]
    tables["findings"] = [{**first, "to_at": None}, *others]
    tables["group_hours"] = [
        {
            "group_id": "slow",
            "hour": MORNING_MS + number * HOUR_MS,
            "rebalances": 1,
            "not_stable_min_ms": HOUR_MS // 4,
            "not_stable_max_ms": HOUR_MS // 4,
            "not_stable_estimate_ms": HOUR_MS // 4,
        }
        for number in range(2)
    ]
    tables["progress"] = [
        {
            "group_id": "slow",
            "topic": "orders",
            "topic_partition": 0,
            "minute": MORNING_MS,
            "log_partition": 1,
            "committed_offset": 40,
            "last_commit_at": MORNING_MS + 1_000,
            "is_transactional": False,
            "commits": 1,
            "handovers": 0,
        }
    ]
    write_lake(folder / "lake", tables, "blue")
    target = folder / f"audit.{kind}"
    export_gold(open_lake(folder / "lake"), kind, target)
    return target
