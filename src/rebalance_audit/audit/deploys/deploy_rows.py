"""Rows of gold.deploys: what a rollout cost each group, by how certain it is that the rebalances belong to it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rebalance_audit.audit.deploys.match import GroupTies, Tie
from rebalance_audit.audit.deploys.rollout import DeployIndex, Rollout
from rebalance_audit.audit.rows import Row
from rebalance_audit.bounds import Bounds, bounds_columns, total_of

_NEEDED: Final = ("rebalances", "epochs", "rebalance_causes", "members")


def deploy_rows(
    tables: Mapping[str, Sequence[Mapping[str, Any]]], deploys: Iterable[Rollout]
) -> list[Row]:
    """The rows, in order of their key; `tables` are gold tables of any number of groups, times in epoch ms."""
    index = DeployIndex(deploys)
    if not index:
        return []
    parts = {name: _by_group(tables[name]) for name in _NEEDED}
    return [
        row
        for group_id in sorted(parts["rebalances"])
        for row in _of_group(index, group_id, {name: parts[name][group_id] for name in _NEEDED})
    ]


def _by_group(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["group_id"]].append(row)
    return found


def _of_group(
    index: DeployIndex, group_id: str, own: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[Row]:
    rebalance_of = {
        (row["incarnation"], row["epoch"]): row["rebalance_seq"]
        for row in own["epochs"]
        if row["rebalance_seq"] is not None
    }
    causes = defaultdict(list)
    for row in sorted(own["rebalance_causes"], key=lambda row: (row["epoch"], row["cause_seq"])):
        seq = rebalance_of.get((row["incarnation"], row["epoch"]))
        if seq is not None:
            causes[row["incarnation"], seq].append(row)
    ties = GroupTies(index, group_id, own["members"])
    found: dict[tuple[int, str, int, str], dict[int, Tie]] = defaultdict(dict)
    for rebalance in own["rebalances"]:
        incarnation, seq = rebalance["incarnation"], rebalance["rebalance_seq"]
        for tie in ties.of(rebalance, causes[incarnation, seq]):
            deploy_id, started_ms = tie.deploy.key
            found[incarnation, deploy_id, started_ms, tie.certainty].setdefault(seq, tie)
    for incarnation, deploy_id, started_ms, certainty in sorted(found):
        of_deploy = found[incarnation, deploy_id, started_ms, certainty]
        yield _row(group_id, incarnation, [of_deploy[seq] for seq in sorted(of_deploy)])


def _row(group_id: str, incarnation: int, ties: Sequence[Tie]) -> Row:
    deploy, rebalances = ties[0].deploy, [tie.rebalance for tie in ties]
    records = _records(rebalances)
    return {
        "group_id": group_id,
        "incarnation": incarnation,
        "deploy_id": deploy.deploy_id,
        "started_at": deploy.started_ms,
        "certainty": str(ties[0].certainty),
        "kind": str(deploy.kind),
        "tool": deploy.tool,
        "namespace": deploy.namespace,
        "environment": deploy.environment,
        "workload": deploy.workload,
        "revision": deploy.revision,
        "replicas": deploy.replicas,
        "ended_at": deploy.ended_ms,
        "rebalances": len(ties),
        "rebalance_seqs": [row["rebalance_seq"] for row in rebalances],
        "rebalances_open": sum(row["ended_at"] is None for row in rebalances),
        **bounds_columns(_sum(rebalances, "duration"), "not_stable"),
        **bounds_columns(_sum(rebalances, "unowned_partition"), "unowned_partition"),
        "records_delayed_min": None if records is None else records.least,
        "records_delayed_max": None if records is None else records.most,
        "records_delayed_estimate": None if records is None else records.estimate,
        "records_delayed_by": _delayed_by(rebalances),
        "evidence": [
            {
                "rebalance_seq": tie.rebalance["rebalance_seq"],
                "matched_by": str(each.matched_by),
                "member_id": each.member_id,
                "change": each.change,
                "at": each.at_ms,
                "pod": each.pod,
                "pod_change": each.pod_change,
                "pod_at": each.pod_at_ms,
            }
            for tie in ties
            for each in tie.evidence
        ],
    }


def _sum(rebalances: Iterable[Mapping[str, Any]], stem: str) -> Bounds | None:
    """Of those that have ended; None if nothing is known of any, without upper bound if one is not known."""
    ended = [row for row in rebalances if row["ended_at"] is not None]
    known = [
        Bounds(row[f"{stem}_min_ms"], row[f"{stem}_max_ms"], row[f"{stem}_estimate_ms"])
        for row in ended
        if row.get(f"{stem}_min_ms") is not None
    ]
    if not known:
        return None
    total = total_of(known)
    return total if len(known) == len(ended) else total._replace(most=None)


def _records(rebalances: Iterable[Mapping[str, Any]]) -> Bounds | None:
    """Records that the rebalances delayed; without samples an estimate without bounds."""
    known = [
        Bounds(
            row["records_delayed_min"] or 0,
            row["records_delayed_max"],
            row["records_delayed_estimate"],
        )
        for row in rebalances
        if row.get("records_delayed_estimate") is not None
    ]
    return total_of(known) if known else None


def _delayed_by(rebalances: Iterable[Mapping[str, Any]]) -> str | None:
    """The weaker of what the estimates rest on."""
    found = {row.get("records_delayed_by") for row in rebalances} - {None}
    return None if not found else "commit_rate" if "commit_rate" in found else found.pop()
