"""Target assignments by a server-side assignor, as the records that differ from those of the previous target.

The rules are those of Kafka's TargetAssignmentBuilder and of ConsumerGroup's choice of the assignor.
"""

from collections.abc import Mapping

from rebalance_audit.coordinator.assignors.group_spec import (
    AssignorError,
    GroupSpec,
    MemberSpec,
    Subscribing,
    effective_assignor,
    member_order,
    subscription_type,
)
from rebalance_audit.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from rebalance_audit.coordinator.consumer.reconciliation import Target
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.handling import ErrorCode, RefusedError, TopicImage
from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.partitions import NOTHING, Partitions, Topic


def topic_names_of(
    member: ModernMember, regexes: Mapping[str, frozenset[str]]
) -> frozenset[str] | set[str]:
    """Names that the member is subscribed to; an unresolved expression counts as no topic."""
    names = set(member.subscribed_topic_names)
    if member.subscribed_topic_regex:
        names |= regexes.get(member.subscribed_topic_regex, frozenset())
    return names


def topic_ids_of(
    member: ModernMember, regexes: Mapping[str, frozenset[str]], image: TopicImage
) -> tuple[bytes, ...]:
    """Ids of those among them that exist, in the order of their names."""
    found = (image.topic(name) for name in sorted(topic_names_of(member, regexes)))
    return tuple(topic.topic_id for topic in found if topic is not None)


def server_assignor(work: Work, updated: ModernMember | None = None) -> str:
    """The server-side assignor that most members prefer, with one member as it will be after the request."""
    members = work.members_with(updated) if updated is not None else work.group.members
    return effective_assignor(
        (member.server_assignor for member in members.values()), work.config.server_assignors
    )


def target_as_is(work: Work, member: ModernMember) -> Target:
    """The member's target on record; a static member that comes back has its predecessor's."""
    holder = work.static_member(member.instance_id)
    member_id = member.member_id if holder is None else holder.member_id
    return Target(work.assignment_epoch, work.group.target_of(member_id))


def compute_target(
    work: Work, group_epoch: int, updated: ModernMember, *, replaced: bool = False
) -> Target:
    """Compute the group's target, with one member as it will be after the request; drafts [7]* [6].

    `replaced`: the targets of the replaced member are still recorded under its old id alone (3.7).
    Raises RefusedError (UNKNOWN_SERVER_ERROR) where the assignor finds no assignment.
    """
    group = work.group
    members = work.members_with(updated)
    previous = _previous_targets(work, updated)
    spec = _spec(work, members, previous, updated)
    try:
        assigned = SERVER_ASSIGNORS[server_assignor(work, updated)](spec)
    except AssignorError as failed:
        raise RefusedError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Failed to compute a new target assignment for epoch {group_epoch}: {failed}",
        ) from failed
    known = dict(group.targets) if replaced else previous
    for member_spec in spec.members:
        member_id = member_spec.member_id
        share = assigned.get(member_id, NOTHING)
        if member_id not in known or known[member_id] != share:
            work.records.append(work.drafts.target(member_id, share))
    work.records.append(work.drafts.target_epoch(group_epoch, work.now_ms))
    return Target(group_epoch, assigned.get(updated.member_id, NOTHING))


def _previous_targets(work: Work, updated: ModernMember) -> dict[str, Partitions]:
    """The targets by the ids that the members will have."""
    previous = dict(work.group.targets)
    holder = work.static_member(updated.instance_id)
    if holder is not None and holder.member_id != updated.member_id:
        handed_over = previous.pop(holder.member_id, None)
        if handed_over is not None:
            previous[updated.member_id] = handed_over
    return previous


def _spec(
    work: Work,
    members: Mapping[str, ModernMember],
    previous: Mapping[str, Partitions],
    updated: ModernMember,
) -> GroupSpec:
    regexes, image = work.group.regexes, work.image
    counts: dict[Topic, int] = {}
    ids_of: dict[frozenset[str], tuple[bytes, ...]] = {}
    specs: list[MemberSpec] = []
    order = member_order(
        list(work.group.members),
        work.soft.table_entries_max,
        joining=(updated.member_id,),
        leaving=work.group.members.keys() - members.keys(),
    )
    for member_id in order:
        member = members[member_id]
        names = frozenset(topic_names_of(member, regexes))
        topic_ids = ids_of.get(names)
        if topic_ids is None:
            topics = [topic for name in sorted(names) if (topic := image.topic(name)) is not None]
            topic_ids = ids_of[names] = tuple(topic.topic_id for topic in topics)
            counts.update((topic.topic_id, len(topic.partition_racks)) for topic in topics)
        target = previous.get(member_id, NOTHING)
        specs.append(MemberSpec(member_id, member.instance_id, topic_ids, target))
    kind = subscription_type(
        [
            Subscribing(member.subscribed_topic_names, member.subscribed_topic_regex)
            for member in members.values()
        ]
    )
    return GroupSpec(tuple(specs), counts, kind)
