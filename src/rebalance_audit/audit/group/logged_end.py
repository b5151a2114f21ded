"""How a member ended, as the brokers' log has it."""

from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.audit.testimony.witness import TOLERANCE_MS, Stay, Witness
from rebalance_audit.audit.verdicts.cause import DEPARTURES, Certainty, RebalanceCause
from rebalance_audit.replay.changes import GroupType, Position


def as_logged(
    witness: Witness | None,
    watch: MemberWatch,
    gone: Position,
    cause: RebalanceCause,
    certainty: Certainty,
) -> tuple[RebalanceCause, Certainty]:
    """The cause and certainty of a member's end, corrected by the broker's log if it mentions it."""
    if witness is None or cause not in {
        *DEPARTURES,
        RebalanceCause.STATIC_MEMBER_REPLACED,
    }:
        return cause, certainty
    stint, gone_ms = watch.stint, gone.record_timestamp_ms
    from_ms = gone_ms - TOLERANCE_MS
    stay = None
    if stint.protocol == GroupType.CLASSIC.value:
        # A classic member is gone up to one join phase before the record that shows it.
        from_ms = min(from_ms, watch.last_life.record_timestamp_ms)
        stay = Stay.between(watch.last_life, gone)
    found = witness.departure(
        stint.member_id,
        stint.identity.instance_id,
        from_ms,
        gone_ms + TOLERANCE_MS,
        near_ms=gone_ms,
        was_away=watch.left_for_a_while,
        stay=stay,
    )
    if found is None:
        return cause, certainty
    known = (cause, certainty) == (found.cause, Certainty.PROVEN)
    is_open = found.alternatives or (found.may_be_text and not known)
    return found.cause, Certainty.PROBABLE if is_open else Certainty.PROVEN
