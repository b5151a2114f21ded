"""What to do about a rebalance: the advice of a finding about the member that held it up, else on what is known."""

from collections.abc import Iterable, Mapping
from typing import Final

from rebalance_audit.bounds import WORTH_NAMING_MS
from rebalance_audit.figures.rows import TableRow, is_open_join_phase, rank_of
from rebalance_audit.report.row_sentences import advice_of
from rebalance_audit.report.verdict import HeldUp, held_up_of
from rebalance_audit.sentences.of_advice import OF_ADVICE
from rebalance_audit.sentences.reason import because
from rebalance_audit.sentences.render import sentence_of, slots_of
from rebalance_audit.sentences.sentence import Sentence

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "kept_partitions": frozenset(
        {"slow_revoker", "revoker_blocked_by_deleted_topic", "slow_member", "stuck_group"}
    ),
    "did_not_rejoin": frozenset(
        {
            *("slow_revoker", "revoker_blocked_by_deleted_topic", "session_expiries"),
            *("stuck_group", "coordinator_moved"),
        }
    ),
    "silent": frozenset({"session_expiries", "silent_member", "slow_member", "coordinator_moved"}),
    "had_left": frozenset({"flapping_member", "instance_id_conflict", "instance_id_refused"}),
    "coordinator": frozenset({"coordinator_moved", "coordinator_trouble", "group_not_served"}),
}
"""How a member held a rebalance up -> the kinds of findings whose advice is about that."""


_OF_CAUSES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("member_joined", "member_left", "group_emptied"),
        "advice.came_or_went",
    ),
    **dict.fromkeys(("static_member_joined", "group_created"), "advice.came"),
    **dict.fromkeys(
        (
            *("member_session_expired", "static_member_expired", "member_rebalance_timeout"),
            *("member_departed", "pending_member_expired"),
        ),
        "advice.gone",
    ),
    **dict.fromkeys(
        (
            *("subscription_changed", "topic_metadata_changed", "regex_resolved"),
            *("assignor_changed", "client_assignor_requested"),
        ),
        "advice.changed",
    ),
}
"""What set a rebalance off -> the code of the advice where no member is known to have held it up."""


def advice_on(rebalance: TableRow, findings: Iterable[TableRow]) -> Sentence | None:
    """The advice of the first of `findings` that is about whoever mainly held `rebalance` up.

    A finding is about it if it has the same group, time, member and way of holding others up. Without one, the advice
    on the way of holding up, on the rollout to which it belongs, or on what set it off; None if it was short.
    """
    findings = list(findings)
    holder = next(iter(held_up_of(rebalance)), None)
    if holder is not None:
        if rebalance["ended_at"] is None and (now := _advice(f"advice.now.{holder.why}", holder)):
            return now
        for row in findings:
            if _is_about(row, holder, rebalance):
                return advice_of(row)
    if rebalance["ended_at"] is not None and max(rank_of(rebalance)) < WORTH_NAMING_MS:
        return None
    if holder is not None and (advice := _advice(f"advice.{holder.why}", holder)):
        return advice
    if is_open_join_phase(rebalance):
        return sentence_of(because("advice.join_phase"))
    code = _OF_CAUSES.get(rebalance.get("primary_cause") or "", "advice.unknown_cause")
    if code == "advice.came_or_went":
        for row in findings:
            if row["kind"] == "deploy_wave" and _is_in(row, rebalance):
                return advice_of(row)
    return sentence_of(because(code))


def _advice(code: str, holder: HeldUp) -> Sentence | None:
    """The advice with this code about one for whom the group waits; None where there is none."""
    if code not in OF_ADVICE:
        return None
    return sentence_of(because(code, **dict.fromkeys(slots_of(code), holder.member_id)))


def _is_in(rollout: TableRow, rebalance: TableRow) -> bool:
    ended_ms = rebalance["ended_at"] or rebalance["started_at"]
    return bool(
        rollout["group_id"] == rebalance["group_id"]
        and rollout["incarnation"] in {None, rebalance["incarnation"]}
        and rollout["from_at"] <= ended_ms
        and rebalance["started_at"] <= (rollout["to_at"] or ended_ms)
    )


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
