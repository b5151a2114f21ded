"""The page's rows are those of the tables, in whatever order a reader hands these over."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from rebalance_audit.local.audit import Audit
from rebalance_audit.readers.report_rows import ReportRows
from tests.cli.audited import audited_once
from tests.cli.call import segments

OF_GROUPS = (
    *("epochs", "states", "group_causes", "held_up", "owned", "progress", "rebalances"),
    *("bars", "longest", "longest_epochs", "longest_causes", "members", "lag"),
)


def audit() -> Audit:
    """One log with groups that move partitions."""
    return audited_once(segments("classic-cooperative"))


def in_order(name: str) -> pa.Table:
    """A table as the audit gives it."""
    return audit().table(name).to_arrow()


def backwards(name: str) -> pa.Table:
    """The same rows, the last one first."""
    table = in_order(name)
    return table.take(pa.array(reversed(range(table.num_rows)), pa.int64()))


def asked(open_gold: Callable[[str], pa.Table], what: str, limit: int) -> list[dict[str, Any]]:
    """What the page shows of all groups."""
    with closing(ReportRows(open_gold, "default")) as rows:
        return rows.of_groups(what, sorted(audit().group_ids), limit)


@pytest.mark.parametrize("limit", [3, 1_000])
@pytest.mark.parametrize("what", OF_GROUPS)
def test_rows_do_not_depend_on_the_order_of_the_tables(what: str, limit: int) -> None:
    """Threads of DuckDB hand rows over as they finish: two pages of one log would differ."""
    rows = asked(in_order, what, limit)
    assert rows or what in {"held_up", "progress", "lag"}
    assert asked(backwards, what, limit) == rows
