"""The members of classic groups: who each is, what it lost and gained, and what it sent that cannot be read in full."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.epochs.epoch_span import EpochSpan, MemberProgress
from rebalance_audit.audit.epochs.generation_delta import GenerationDelta, Members
from rebalance_audit.audit.members.stint import Identity
from rebalance_audit.replay.classic import Kind, kind_of
from rebalance_audit.replay.groups import ClassicMember
from rebalance_audit.replay.partitions import NOTHING, Partitions, count, minus
from rebalance_audit.wire.consumer_protocol import OWNED_PARTITIONS, PROTOCOL_TYPE


def identity_of(member: ClassicMember) -> Identity:
    """As its latest record has it."""
    subscription = member.subscription
    return Identity(
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms if member.rebalance_timeout_ms >= 0 else None,
        member.session_timeout_ms,
        tuple(subscription.topics) if subscription else (),
        topics_are_known=subscription is not None,
    )


class Shift(NamedTuple):
    """What one member lost and gained."""

    lost: Partitions
    gained: Partitions


def shifts(before: Members, after: Members) -> dict[str, Shift]:
    """Shifts of all members whose assignment differs, by the maps' keys: members that stayed or came, then the rest."""
    found: dict[str, Shift] = {}
    for key, member in after.items():
        has, earlier = member.assigned, before.get(key)
        if earlier is None:
            if has:
                found[key] = Shift(NOTHING, has)
            continue
        had = earlier.assigned
        if had is not has and had != has:
            found[key] = Shift(minus(had, has), minus(has, had))
    for key, member in before.items():
        if key not in after and member.assigned:
            found[key] = Shift(member.assigned, NOTHING)
    return found


def by_identity(generation: Generation) -> Members:
    """A generation's members by instance id, or by member id if they have none."""
    return identified(generation.members) if generation.has_static else generation.members


def identified(members: Members) -> Members:
    """Members by instance id, or by member id if they have none."""
    return {member.instance_id or member.member_id: member for member in members.values()}


def reach(
    span: EpochSpan,
    new: Generation,
    delta: GenerationDelta,
    moved_by_identity: Mapping[str, Shift],
) -> None:
    """Every member has reached the new generation once its record is written."""
    at_ms, work = new.position.record_timestamp_ms, new.kind.work
    reached = list(delta.differing)
    last = new.members[max(new.members)] if new.members else None
    if last is not None and all(now is not last for _, now in reached):
        reached.append((last, last))
    for before, member in reached:
        shift = moved_by_identity.get(member.instance_id or member.member_id)
        gained_count = lost_count = 0
        if shift is not None:
            gained_count, lost_count = count(shift.gained), count(shift.lost)
        span.progress[member.member_id] = MemberProgress(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            span.started_at_ms,
            member.partition_count + lost_count - gained_count,
            at_ms,
            partitions_after=member.partition_count,
            partitions_revoked=lost_count,
            partitions_assigned=gained_count,
            outcome="reached",
            work=work(member),
            is_new=before is None or work(before) != work(member),
        )
    span.untouched = len(new.members) - len(span.progress)


SUBSCRIPTION: Final = "subscription"
OWNED: Final = "owned partitions"
ASSIGNMENT: Final = "assignment"
SENTENCES: Final[Mapping[str, str]] = {
    SUBSCRIPTION: "subscriptions cannot be read: which topics their members subscribe to is unknown",
    OWNED: "subscriptions leave out what their members owned",
    ASSIGNMENT: "assignments cannot be read: what their members have is unknown",
}
"""What cannot be read -> the rest of a sentence that begins with how many."""


def unread_parts(
    protocol_type: str, protocol_name: str | None, members: Iterable[ClassicMember]
) -> Iterable[str]:
    """One key of `SENTENCES` for each part of a member's bytes that cannot be read."""
    kind = kind_of(protocol_type, protocol_name)
    is_consumer = protocol_type == PROTOCOL_TYPE
    for member in members:
        if is_consumer:
            said = member.subscription
            if said is None:
                yield SUBSCRIPTION
            elif OWNED_PARTITIONS in said.unread:
                yield OWNED
        if _has_unread_assignment(kind, member):
            yield ASSIGNMENT


def _has_unread_assignment(kind: Kind, member: ClassicMember) -> bool:
    if not member.assignment_bytes:
        return False
    if kind.owns_partitions:
        return member.assignment is None
    return bool(kind.title) and kind.work(member) is None
