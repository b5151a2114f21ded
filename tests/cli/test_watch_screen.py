"""The full-screen view of `watch`, drawn at a moment of a real log."""

import io
import time
from collections.abc import Mapping

from rich.console import Console

from rebalance_audit.audit.group.present import NO_PRESENT
from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.ownership.commit_book import CommittedPosition
from rebalance_audit.audit.rows import (
    EPOCHS,
    FINDINGS,
    GROUP_STATES,
    MEMBERS,
    REBALANCE_CAUSES,
    REBALANCES,
    Row,
)
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.live_source import live_source
from rebalance_audit.cli.watch_screen import WatchScreen
from rebalance_audit.cli.watched_groups import WatchedGroups
from rebalance_audit.local.live.live_audit import GroupUpdate, LiveAudit
from rebalance_audit.report.answer import opening_sentence, rebalance_sentence
from rebalance_audit.report.lag_text import GroupLag, group_lags
from rebalance_audit.wire.segments.columns import ColumnChunk
from tests.cli.call import segments

SHARE = 0.42
"""Of each partition: then three groups rebalance."""


def test_it_says_who_is_waited_for_and_fits_80_columns() -> None:
    """Those that have not arrived are named, and what has no consumer meanwhile; time counts up to now."""
    text = drawn(80, 24)
    assert len(text) <= 24
    assert max(map(len, text)) <= 80
    assert "6 groups, 3 rebalancing" in text[0]
    wide = drawn(140, 60)
    assert "log ends at 09:25:16" in wide[0]
    late = "alpha has been rebalancing for 37.0 s: none of its 3 members has reached epoch 5: alpha-0, alpha-1 and "
    assert any(line.startswith(late) for line in wide)
    (state,) = [line.split() for line in wide if line.startswith("stuck   ")]
    assert state == ["stuck", "Reconciling", "(1)", "2", "10.0", "s", "member", "joined", "2×"]


def test_lag_has_columns_once_it_is_known() -> None:
    """Offsets, how long the oldest record has been waiting, and the commit rate."""
    position = CommittedPosition("orders", 0, "m", None, "app", 970, 1_000, 12.0)
    ends = EndOffsets({("orders", 0): [EndOffset(0, 0, 900), EndOffset(43_000, 0, 2_000)]})
    (lag,) = group_lags([("stuck", position)], ends)
    lines = drawn(140, 60, {"stuck": lag})
    (line,) = [line.split() for line in lines if line.startswith("stuck   ")]
    assert line[6:10] == ["1,030", "43.0", "s", "12"]


def test_what_a_coordinator_says_holds_until_the_log_says_more() -> None:
    """Of a classic group: the log has nothing of a join phase. What was asked before its last state is of that one."""
    groups, now_s = WatchedGroups("default"), time.monotonic()
    groups.take([update(7)])
    for asked_s, said, state in (
        (now_s + 9, {"g": "PreparingRebalance"}, "PreparingRebalance"),
        (now_s + 9, {"g": "Stable"}, "Stable"),
        (now_s + 9, {"g": "CompletingRebalance"}, "CompletingRebalance"),
        (now_s + 9, {}, "Stable"),
        (now_s - 9, {"g": "PreparingRebalance"}, "Stable"),
        (now_s + 9, {"g": "PreparingRebalance"}, "PreparingRebalance"),
    ):
        groups.hear((asked_s, said))
        assert state_of(groups) == (state, state != "Stable")
    groups.take([update(7)])
    assert state_of(groups) == ("PreparingRebalance", True), "a commit changes nothing"
    groups.take([update(8)])
    assert state_of(groups) == ("Stable", False)
    groups.hear((now_s + 9, {"g": "PreparingRebalance"}))
    screen = WatchScreen("kafka:broker-1:9092", groups)
    console = Console(file=io.StringIO(), width=140, height=24, color_system=None)
    with console.capture() as captured:
        console.print(screen.drawn(3_000, 140, 24))
    assert "1 group, 1 rebalancing" in captured.get()
    assert "g is rebalancing: its coordinator says PreparingRebalance" in captured.get()
    opening = opening_sentence(groups.tables(0), 0, 60_000)
    assert opening.startswith("g is rebalancing: its coordinator says PreparingRebalance")
    assert "A last committed 58.0 s ago" in opening
    groups.hear(None)
    assert state_of(groups) == ("Stable", False), "no answer is no state"


def state_of(groups: WatchedGroups) -> tuple[str, bool]:
    """The state of the only group, and whether it comes before others."""
    (group,) = groups.by_trouble()
    assert group.present is not None
    return group.present.group_state, group.is_stuck


def update(epoch: int) -> GroupUpdate:
    """A classic group in this generation, stable by the log."""
    row = {
        **NO_PRESENT,
        "protocol": "classic",
        "group_state": "Stable",
        "members_at_end": 2,
        "incarnation": 0,
        "from_at": 0,
        "to_at": None,
        "epoch_at_end": epoch,
        "group_id": "g",
        "stopped": [{"member_id": "A", "last_commit_at": 2_000, "interval_ms": 1_000}],
    }
    tables: dict[str, list[Row]] = {
        name: [] for name in (EPOCHS, FINDINGS, MEMBERS, REBALANCE_CAUSES, REBALANCES)
    }
    return GroupUpdate("g", {**tables, GROUP_STATES: [row]}, [], [], None)


def drawn(width: int, height: int, lags: Mapping[str, GroupLag] | None = None) -> list[str]:
    """The lines three seconds after the last record."""
    source = live_source(Invocation(), f"segments:{segments('consumer-protocol')}")
    live = LiveAudit(AuditOptions(topic_name=source.names.name_of), source.names)
    groups = WatchedGroups("default")
    screen = WatchScreen("kafka:broker-1:9092", groups)
    for log_partition, found in source.log.read():
        assert isinstance(found, ColumnChunk)
        live.take(log_partition, first(found, int(len(found.log_offsets) * SHARE)))
    news = list(live.updates())
    groups.take(news)
    groups.lags = lags or {}
    for group in news:
        for row, times in group.ended:
            screen.ended(rebalance_sentence(row, group.tables, times))
    assert live.log_end_ms is not None
    screen.log_end_ms = live.log_end_ms
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    with console.capture() as captured:
        console.print(screen.drawn(live.log_end_ms + 3000, width, height))
    return [line.rstrip() for line in captured.get().splitlines()]


def first(chunk: ColumnChunk, count: int) -> ColumnChunk:
    """Its first records."""
    runs, left = [], count
    for run in chunk.runs:
        if left > 0:
            runs.append(run._replace(record_count=min(left, run.record_count)))
        left -= run.record_count
    return chunk._replace(
        log_offsets=chunk.log_offsets[:count],
        record_timestamps_ms=chunk.record_timestamps_ms[:count],
        keys=chunk.keys[:count],
        values=chunk.values[:count],
        runs=runs,
    )
