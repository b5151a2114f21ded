"""The audit of real brokers' logs against the brokers' own words (tests/golden/PROVENANCE.md)."""

import itertools
import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.log_entries import records_of

CAPTURES = Path(__file__).parents[1] / "golden" / "captures"
TOLERANCE_MS = 50
"""The brokers' log lines and records are stamped by different calls."""
COLD_START_MS = {"failover": 150}
"""Between the line and the record of its first epoch that broker spent 106 ms on its first target."""

EQUIVALENT = {
    "member_joined": {"group_created"},
    "static_member_joined": {"member_joined", "group_created"},
    "member_left": {
        "member_departed",
        "member_removed_by_admin",
        "protocol_downgraded",
        "group_emptied",
    },
    "member_session_expired": {"member_departed", "static_member_expired", "group_emptied"},
    "subscription_changed": {"member_joined", "group_created"},
    "leader_rejoined": {"topic_metadata_changed", "cooperative_follow_up"},
}
"""What the audit may say where the broker's line says more than records can hold, or says it from another side."""


@cache
def audit(capture: str) -> dict[str, list[Row]]:
    """Tables of one capture."""
    segments = CAPTURES / capture / "segments"
    log = LogAudit(AuditOptions(topic_name=read_topic_names(open_log_folder(segments)).name_of))
    for record, position in records_of(segments):
        log.feed(record, position)
    return log.tables()


def truth(capture: str) -> dict[tuple[str, int], list[Row]]:
    """The broker's reasons by (group, epoch)."""
    reasons = defaultdict(list)
    for line in (CAPTURES / capture / "truth.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row.get("epoch") is not None:
            reasons[row["group"], row["epoch"]].append(row)
    return reasons


NAMES = sorted(folder.name for folder in CAPTURES.iterdir())
UNCOMPACTED = [name for name in NAMES if name != "compacted"]


@pytest.mark.parametrize("capture", UNCOMPACTED)
def test_every_epoch_of_the_broker_has_its_row(capture: str) -> None:
    """Each bump or stabilised generation that the broker logged is a row at the same time, with as many members."""
    rows = defaultdict(list)
    for row in audit(capture)["epochs"]:
        rows[row["group_id"], row["epoch"]].append(row)
    for (group, epoch), reasons in truth(capture).items():
        at_ms = reasons[0].get("stabilized_ms") or reasons[0]["t_ms"]
        tolerance_ms = COLD_START_MS.get(capture, TOLERANCE_MS)
        near = [row for row in rows[group, epoch] if abs(row["started_at"] - at_ms) <= tolerance_ms]
        unsynced = reasons[0]["protocol"] == "classic" and not rows[group, epoch]
        assert near or unsynced, (group, epoch, reasons[0])
        for row in near:
            assert reasons[0].get("members", row["members"]) == row["members"]


@pytest.mark.parametrize("capture", NAMES)
def test_no_proven_cause_contradicts_the_broker(capture: str) -> None:
    """Where the broker logged its reason, a primary cause that is called proven is among its reasons."""
    reasons = truth(capture)
    judged = 0
    for row in audit(capture)["rebalance_causes"]:
        said = {reason["cause"] for reason in reasons.get((row["group_id"], row["epoch"]), ())}
        if (
            row["cause_seq"]
            or not said
            or any("|" in cause or cause == "unknown" for cause in said)
        ):
            continue
        judged += 1
        allowed = said.union(*(EQUIVALENT.get(cause, set()) for cause in said))
        assert row["certainty"] != "proven" or row["cause"] in allowed, (row, said)
    assert judged or capture == "share-streams"


@pytest.mark.parametrize("capture", NAMES)
def test_rows_agree_with_each_other(capture: str) -> None:
    """Keys are unique, times are in order, intervals of one partition do not overlap, every epoch has a cause."""
    tables = audit(capture)
    epochs = {(row["group_id"], row["incarnation"], row["epoch"]): row for row in tables["epochs"]}
    assert len(epochs) == len(tables["epochs"])
    causes = {
        (row["group_id"], row["incarnation"], row["epoch"]) for row in tables["rebalance_causes"]
    }
    assert causes == set(epochs)
    for row in tables["convergence"]:
        assert (row["group_id"], row["incarnation"], row["epoch"]) in epochs
    for row in tables["epochs"]:
        order = [row["join_started_earliest"], row["join_started_latest"], row["converged_at"]]
        known = [moment for moment in order if moment is not None]
        assert known == sorted(known), row
        assert (row["outcome"] == "superseded") == (row["superseded_by"] is not None), row
    held = defaultdict(list)
    for row in tables["ownership"]:
        held[row["group_id"], row["topic_id"], row["topic"], row["topic_partition"]].append(row)
    for intervals in held.values():
        intervals.sort(key=lambda row: row["from_offset"])
        for earlier, later in itertools.pairwise(intervals):
            assert earlier["to_offset"] is not None
            assert earlier["to_offset"] <= later["from_offset"]
    members = {(row["group_id"], row["incarnation"], row["member_id"]) for row in tables["members"]}
    assert len(members) == len(tables["members"])


@pytest.mark.parametrize("capture", NAMES)
def test_a_rebalance_is_the_sum_of_its_epochs(capture: str) -> None:
    """Of a classic group in the lower bound: its members may be away between rebalances. Unknown of one is of both."""
    tables, parts = audit(capture), defaultdict(list)
    for row in tables["epochs"]:
        parts[row["group_id"], row["incarnation"], row["rebalance_seq"]].append(row)
    for row in tables["rebalances"]:
        of = parts[row["group_id"], row["incarnation"], row["rebalance_seq"]]
        unowned = [epoch["unowned_partition_min_ms"] for epoch in of]
        least = None if None in unowned else sum(unowned)
        assert row["unowned_partition_min_ms"] == least, row
        # Where the coordinator moved, there is no upper bound.
        most = row["unowned_partition_max_ms"]
        assert row["protocol"] == "classic" or most in {None, least}, row
        if row["partitions_moved"] is not None:
            assert row["partitions_moved"] == sum(epoch["partitions_moved"] or 0 for epoch in of)
