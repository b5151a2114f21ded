"""Who is named for a rebalance; the demo's log comes from a real broker."""

from pathlib import Path

from rebalance_audit.audit.group.held_up import NAMED_FROM_PERCENT
from rebalance_audit.demo_log import extract_to
from rebalance_audit.figures.rows import rank_of
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.report.verdict import held_up_of
from tests.cli.call import call

GROUP = "group-3-consumer"


def test_the_member_that_kept_partitions_longest_is_named_first(tmp_path: Path) -> None:
    """c74 kept partitions for 20.0 of 22.7 s and never released them; c54, which was the last to arrive, comes next."""
    log = extract_to(tmp_path)
    tables = audit_segments(log, [GROUP]).tables
    names = {row["member_id"]: row["client_id"] for row in tables["members"]}
    longest = max(tables["rebalances"], key=rank_of)
    assert [(names[who.member_id or ""], who.ms, who.why) for who in held_up_of(longest)] == [
        ("c74", 20_001, "kept_partitions"),
        ("c54", 5173, "kept_partitions"),
    ]
    printed = " ".join(call("explain", log, GROUP, "--epoch", "19").out.split())
    assert (
        "took 22.7 s: c74 at 127.0.0.1 held it up for 20.0 s, and c54 at 127.0.0.1 for" in printed
    )
    assert "Cause: member joined, c80 at 127.0.0.1 (proven)" in printed
    assert "c74 and c54 each kept partitions that others waited for." in printed


def test_no_member_is_named_for_a_share_without_wait(tmp_path: Path) -> None:
    """A member that released its partitions within milliseconds held nothing up."""
    tables = audit_segments(extract_to(tmp_path)).tables
    for row in tables["rebalances"]:
        for holder in held_up_of(row):
            share = NAMED_FROM_PERCENT * (row["duration_ms"] or 0)
            assert holder.ms is None or 100 * holder.ms >= share
