"""Real brokers' logs beside the records of the same minutes (tests/golden/PROVENANCE.md)."""

from collections import defaultdict
from functools import cache

import pytest

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.testimony.clocks import Moments, aligned
from rebalance_audit.replay.changes import Position
from rebalance_audit.time_zones import zone_of
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.records import Record
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.audit.test_captures import CAPTURES, COLD_START_MS, EQUIVALENT, NAMES, truth
from tests.support.log_entries import records_of

SILENT = "bump without a line of its own"
"""Reason in truth.jsonl of an epoch whose line its maker did not find: some have none, some it did not know."""


@cache
def records_of_capture(name: str) -> list[tuple[Record, Position]]:
    """Every record of a capture."""
    return list(records_of(CAPTURES / name / "segments"))


@cache
def broker_log(capture: str) -> BrokerLog:
    """What the brokers of a capture logged."""
    return BrokerLog.of(LogReader(zone_of("UTC")).facts([CAPTURES / capture / "server.log.gz"]))


@cache
def audit(capture: str) -> dict[str, list[Row]]:
    """Tables of one capture with its brokers' log."""
    names = read_topic_names(open_log_folder(CAPTURES / capture / "segments"))
    log = LogAudit(
        AuditOptions(topic_name=names.name_of, broker_facts=broker_log(capture).facts_of)
    )
    for record, position in records_of_capture(capture):
        log.feed(record, position)
    return log.tables()


def allowed(reasons: list[Row]) -> set[str]:
    """What the audit may call an epoch of these reasons.

    "Updating metadata for member" is all that a broker knows of a cooperative member that comes back after it gave
    partitions up, or since a topic grew; records and line together say more.
    """
    causes = {cause for reason in reasons for cause in reason["cause"].split("|")}
    if "subscription_changed" in causes:
        causes |= {"cooperative_follow_up", "topic_metadata_changed"}
    return causes.union(*(EQUIVALENT.get(cause, set()) for cause in causes))


def judged(capture: str) -> list[tuple[Row, list[Row]]]:
    """(primary cause, the broker's reasons) of every epoch whose reason the broker logged."""
    reasons = truth(capture)
    return [
        (row, reasons[row["group_id"], row["epoch"]])
        for row in audit(capture)["rebalance_causes"]
        if not row["cause_seq"]
        and any(
            reason["cause"] != "unknown" and reason.get("reason") != SILENT
            for reason in reasons.get((row["group_id"], row["epoch"]), ())
        )
    ]


@pytest.mark.parametrize("capture", NAMES)
def test_no_proven_cause_contradicts_the_broker(capture: str) -> None:
    """Not one, on any release, with any client."""
    for row, reasons in judged(capture):
        assert row["certainty"] != "proven" or row["cause"] in allowed(reasons), (row, reasons)


def test_nearly_every_cause_is_right_and_proven() -> None:
    """All are right, and 96 of 100 are proven, where the records alone prove four of ten.

    Open are the cooperative members of librdkafka that come back without a reason and lost nothing: a topic grew.
    """
    pairs = [pair for capture in NAMES for pair in judged(capture)]
    right = [row for row, reasons in pairs if row["cause"] in allowed(reasons)]
    assert len(pairs) > 300
    assert len(right) == len(pairs)
    assert sum(row["certainty"] == "proven" for row in right) >= 0.96 * len(pairs)


@pytest.mark.parametrize("capture", NAMES)
def test_join_phases_begin_when_the_broker_said_so(capture: str) -> None:
    """Both bounds are the logged moment; where a generation was begun twice it is the later one."""
    prepared: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for (group, epoch), reasons in truth(capture).items():
        prepared[group, epoch] |= {
            reason["prepare_ms"]
            for reason in reasons
            if "prepare_ms" in reason and not reason.get("while_preparing")
        }
    tolerance_ms = COLD_START_MS.get(capture, 50)
    for row in audit(capture)["epochs"]:
        moments = prepared[row["group_id"], row["epoch"]]
        if row["protocol"] == "classic" and len(moments) == 1:
            assert row["join_started_earliest"] == row["join_started_latest"]
            assert abs(row["join_started_latest"] - moments.pop()) <= tolerance_ms


@pytest.mark.parametrize("capture", NAMES)
def test_log_and_records_agree(capture: str) -> None:
    """The clocks agree, nothing is contradicted, and every group with an epoch has its records."""
    log = broker_log(capture)
    moments = Moments(log.by_group.keys())
    for record, position in records_of_capture(capture):
        moments.note(record, position)
    found = aligned(log, moments)
    assert (found.log, found.notes) == (log, [])
    kinds = {row["kind"] for row in audit(capture)["findings"]}
    assert "broker_log_contradiction" not in kinds


REMOVED = {
    *(("broker-" + release, "fleet", 6) for release in ("3.3", "3.7", "3.9", "4.0", "4.4")),
    ("classic-static", "fleet", 5),
    ("classic-static", "crew", 3),
    ("consumer-static", "fleet", 15),
}
"""Epochs of these captures that an administrator's removal set off, by the stories that were played."""


def test_removals_by_administrators_differ_from_leaves() -> None:
    """The broker logs both as a LeaveGroup; what the request named and the reasons separate them, each time."""
    found = {
        (capture, row["group_id"], row["epoch"])
        for capture in NAMES
        for row in audit(capture)["rebalance_causes"]
        if row["cause"] == "member_removed_by_admin"
    }
    assert found == REMOVED
