"""A summary of a log for a program: one row per group, and the most severe findings."""

from collections.abc import Mapping
from typing import Any, Final

from rebalance_audit.bounds import bounds_columns
from rebalance_audit.figures.groups import GroupSummary, summaries
from rebalance_audit.figures.ranking import most_severe_first
from rebalance_audit.figures.rows import Tables
from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences.words import iso
from rebalance_audit.tables.json_values import JSON_VERSION

GROUPS_MAX: Final = 50
FINDINGS_MAX: Final = 20
AWAITED_MAX: Final = 5


def brief(tables: Tables, cluster: str) -> dict[str, Any]:
    """The object: groups that wait for somebody first, then those that lost most time; `…_in_all` counts them."""
    names = MemberNames(tables["members"])
    groups = summaries(tables)
    findings = most_severe_first(tables)
    return {
        "schema_version": JSON_VERSION,
        "cluster": cluster,
        "groups_in_all": len(groups),
        "groups": [_group(each, names) for each in groups[:GROUPS_MAX]],
        "findings_in_all": len(findings),
        "findings": [_finding(row) for row in findings[:FINDINGS_MAX]],
    }


def _group(group: GroupSummary, names: MemberNames) -> dict[str, Any]:
    culprit = group.culprit
    return {
        "group_id": group.group_id,
        "protocols": list(group.protocols),
        "protocol_type": group.protocol_type,
        "group_state": None if group.present is None else group.present.group_state,
        "members": None if group.present is None else group.present.members,
        "epochs": group.epochs,
        "rebalances": group.rebalances,
        "rebalancing_since": iso(group.open_since_ms),
        "waits_for": [
            names.whole(group.group_id, row["member_id"])
            for row in (group.present.awaited if group.present else ())[:AWAITED_MAX]
        ],
        **bounds_columns(group.not_stable, "not_stable"),
        **bounds_columns(group.unowned, "unowned_partition"),
        "commonest_cause": group.commonest_cause,
        "held_up_by": None if culprit is None else names.whole(group.group_id, culprit.member_id),
    }


def _finding(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("finding_id", "kind", "severity", "group_id")},
        "from_at": iso(row["from_at"]),
        "to_at": iso(row["to_at"]),
        "detail": row["detail"],
    }
