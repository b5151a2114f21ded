"""What to do about a rebalance: the advice of a finding about the member that held it up, and about how it did."""

from collections.abc import Iterable, Mapping
from typing import Final

from rebalance_audit.report.held_up import HeldUp, held_up_of
from rebalance_audit.report.row_sentences import advice_of
from rebalance_audit.report.summary import TableRow
from rebalance_audit.sentences.sentence import Sentence

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "kept_partitions": frozenset(
        {"slow_revoker", "revoker_blocked_by_deleted_topic", "slow_member", "stuck_group"}
    ),
    "did_not_rejoin": frozenset(
        {"slow_revoker", "revoker_blocked_by_deleted_topic", "session_expiries", "stuck_group"}
    ),
    "silent": frozenset({"session_expiries", "silent_member", "slow_member"}),
    "had_left": frozenset({"flapping_member", "instance_id_conflict", "instance_id_refused"}),
    "coordinator": frozenset({"coordinator_moved", "coordinator_trouble", "group_not_served"}),
}
"""How a member held a rebalance up -> the kinds of findings whose advice is about that."""


def advice_on(rebalance: TableRow, findings: Iterable[TableRow]) -> Sentence | None:
    """The advice of the first of `findings` that is about whoever mainly held `rebalance` up; None without one.

    A finding is about it if it has the same group, time, member and way of holding others up.
    """
    for holder in held_up_of(rebalance)[:1]:
        for row in findings:
            if _is_about(row, holder, rebalance):
                return advice_of(row)
    return None


def _is_about(finding: TableRow, holder: HeldUp, rebalance: TableRow) -> bool:
    return (
        finding["kind"] in KINDS.get(holder.why, ())
        and finding["group_id"] == rebalance["group_id"]
        and finding["incarnation"] in {None, rebalance["incarnation"]}
        and (holder.member_id is None or holder.member_id in (finding["member_ids"] or ()))
        and _overlaps(finding, holder, rebalance)
    )


def _overlaps(finding: TableRow, holder: HeldUp, rebalance: TableRow) -> bool:
    """Whether both share a moment; a silent member is waited for before the rebalance that removes it."""
    began = [rebalance["started_at"], rebalance.get("started_at_earliest")]
    if holder.to_ms is not None and holder.ms is not None:
        began.append(holder.to_ms - holder.ms)
    began_ms = min((at_ms for at_ms in began if at_ms is not None), default=0)
    ended_ms, from_ms, to_ms = rebalance["ended_at"], finding["from_at"], finding["to_at"]
    starts_in_time = from_ms is None or ended_ms is None or from_ms <= ended_ms
    return starts_in_time and (to_ms is None or to_ms >= began_ms)
