"""Groups that change their protocol while they run (KIP-848, Supporting Online Consumer Group Upgrade).

Upgrade: the first member of the consumer protocol joins a classic group, and the generation becomes the group's first
epoch, with the leader's assignment as target. Downgrade: the last such member leaves, and the group epoch becomes the
generation, with the targets as assignment.
"""

from collections.abc import Collection, Iterator, Mapping

from rebalance_audit.coordinator.classic.live_group import LiveGroup, LiveMember
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.consumer.bumps import metadata_hash, recorded_shapes
from rebalance_audit.coordinator.consumer.drafts import Drafts
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.group_tombstones import MEMBER_KEYS, group_tombstones
from rebalance_audit.coordinator.handling import (
    CoordinatorConfig,
    ErrorCode,
    MigrationPolicy,
    RecordDraft,
    RefusedError,
    TimerKind,
    TopicImage,
)
from rebalance_audit.coordinator.requests.classic import JoinGroupProtocol
from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.replay.groups import STABLE, ClassicMembership, GroupSlot, ModernGroup
from rebalance_audit.replay.groups import ModernMember as Member
from rebalance_audit.replay.java_order import timeline_order
from rebalance_audit.replay.partitions import Partitions, each, partitions_of
from rebalance_audit.replay.playback import apply
from rebalance_audit.replay.step import Policy
from rebalance_audit.wire.consumer_protocol import (
    NEWEST_VERSION,
    PROTOCOL_TYPE,
    Assignment,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from rebalance_audit.wire.generated.messages import KEY_CLASSES, GroupMetadataKey, RecordType
from rebalance_audit.wire.records import Record

UPGRADES = frozenset({MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL})
DOWNGRADES = frozenset({MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL})

_TYPE_OF_KEY: Mapping[type, RecordType] = {
    key_class: record_type for record_type, key_class in KEY_CLASSES.items()
}


# --- upgrade --------------------------------------------------------------------------------------


def upgraded(
    live: LiveGroup, config: CoordinatorConfig, image: TopicImage, drafts: Drafts
) -> tuple[ModernGroup, tuple[RecordDraft, ...]]:
    """The consumer group that a classic one becomes, and [2t] [5]* [4]? [3] [7]* [6] [8]*, which make it.

    Raises RefusedError (GROUP_ID_NOT_FOUND) where the group must stay as it is.
    """
    _require_upgradable(live, config, drafts)
    # In its first join phase a group has no elected protocol yet, and may have lost every member that could vote.
    protocol_name = live.protocol_name or (live.vote() if live.members else "")
    found = [_member_of(live, member, protocol_name, image) for member in live.in_order()]
    by_id = {member.member_id: member for member in found}
    members = [by_id[member_id] for member_id in timeline_order(list(by_id), len(by_id))]
    records = [
        RecordDraft(GroupMetadataKey(live.group_id), None),
        *map(drafts.member, members),
        *_topics_and_epoch(members, live.generation, image, drafts),
        *(drafts.target(member.member_id, member.assigned) for member in members),
        drafts.target_epoch(live.generation, 0),
        *map(drafts.current, members),
    ]
    return _rehearsed(live.group_id, records[1:]), tuple(records)


def _require_upgradable(live: LiveGroup, config: CoordinatorConfig, drafts: Drafts) -> None:
    if not drafts.release.online_migration or config.migration_policy not in UPGRADES:
        raise _stays(live, "online upgrade is disabled")
    if live.protocol_type != PROTOCOL_TYPE:
        raise _stays(live, "the group does not use the consumer embedded protocol")
    if len(live.members) > config.consumer_max_size:
        raise _stays(live, "its size exceeds the maximum size of a consumer group")


def _stays(live: LiveGroup, why: str) -> RefusedError:
    return RefusedError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {live.group_id} to consumer group because {why}.",
    )


def _member_of(
    live: LiveGroup, member: LiveMember, protocol_name: str, image: TopicImage
) -> Member:
    """A classic member as a member of the consumer group: stable at the generation with what it had."""
    subscription = decode_subscription(member.metadata_for(protocol_name))
    # A member that has not synced yet has no assignment.
    assignment = decode_assignment(member.assignment) if member.assignment else Assignment((), None)
    if subscription is None or assignment is None:
        raise _stays(live, "the embedded consumer protocol is malformed")
    if assignment.user_data:
        raise _stays(live, "an unsupported custom assignor is in use: its data would be lost")
    assigned = partitions_by_id(assignment.assigned_partitions, image)
    return Member(
        member.member_id,
        described=True,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted(set(subscription.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMembership(
            member.session_timeout_ms,
            tuple((protocol.name, protocol.metadata) for protocol in member.protocols),
        ),
        member_epoch=live.generation,
        previous_member_epoch=live.generation,
        member_state=STABLE,
        assigned=assigned,
        assignment_epochs=dict.fromkeys(each(assigned), live.generation),
    )


def partitions_by_id(partitions: TopicPartitions, image: TopicImage) -> Partitions:
    """Partitions given by topic name, under the ids of the topics that now have these names."""
    return partitions_of(
        (topic.topic_id, numbers)
        for name, numbers in partitions
        if (topic := image.topic(name)) is not None
    )


def partitions_by_name(partitions: Partitions, image: TopicImage) -> TopicPartitions:
    """Partitions given by topic id, under their names; topics that are gone are left out."""
    named = (
        (topic.name, tuple(sorted(numbers)))
        for topic_id, numbers in partitions.items()
        if isinstance(topic_id, bytes) and (topic := image.topic_by_id(topic_id)) is not None
    )
    return tuple(sorted(named))


def _topics_and_epoch(
    members: Collection[Member], generation: int, image: TopicImage, drafts: Drafts
) -> Iterator[RecordDraft]:
    names = {name for member in members for name in member.subscribed_topic_names}
    if drafts.release.topic_metadata_record:
        yield drafts.topic_metadata(recorded_shapes(names, image).values())
    yield drafts.group_epoch(generation, metadata_hash(names, image))


def _rehearsed(group_id: str, records: Collection[RecordDraft]) -> ModernGroup:
    """The group that replay will make of these records; the request that drafts them continues with it."""
    slot = GroupSlot(group_id)
    for log_offset, draft in enumerate(records):
        record = Record(_TYPE_OF_KEY[type(draft.key)], draft.key, draft.value, 0)
        apply(slot, record, Position(0, log_offset, 0), Policy.STRICT)
    group = slot.group
    assert isinstance(group, ModernGroup)
    assert group.group_type is GroupType.CONSUMER
    return group


# --- downgrade ------------------------------------------------------------------------------------


def may_downgrade(work: Work, leaving: Collection[Member], joining: Member | None = None) -> bool:
    """Whether the group becomes a classic one when these leave (and this one comes back as a classic member)."""
    members, config = work.group.members, work.config
    staying = len(members) - len(leaving) + (joining is not None)
    gone = {member.member_id for member in leaving}
    return (
        staying > 0
        and work.release.online_migration
        and config.migration_policy in DOWNGRADES
        and staying <= config.group_max_size
        and all(
            member.classic is not None
            for member in members.values()
            if member.member_id not in gone
        )
    )


def downgraded(
    work: Work, leaving: Collection[Member], joining: tuple[Member, Member] | None = None
) -> LiveGroup:
    """Drafts [8t]* [7t]* [6t] [5t]* [16t]* [4t] [3t]; the classic group, stable with the targets as assignment.

    `joining` is a static member and the member whose place, and whose records, it has just taken. The generation is the
    group epoch from before this write, as in Kafka, even where the write bumps it. The group's own record is left
    to the classic side.
    """
    gone = {member.member_id for member in leaving}
    _draft_end(work, joining)
    group, image = work.group, work.image
    live = LiveGroup(
        group.group_id,
        work.now_ms,
        ClassicState.STABLE,
        generation=work.group_epoch,
        protocol_type=PROTOCOL_TYPE,
    )
    targets: dict[str, Partitions] = {}
    for member_id in in_table_order(work):
        member = group.members[member_id]
        if joining is not None and member is joining[1]:
            continue
        if member_id not in gone:
            live.add(_live_member(member))
            targets[member_id] = group.target_of(member_id)
    if joining is not None:
        new, old = joining
        live.add(_live_member(new))
        targets[new.member_id] = group.target_of(old.member_id)
    live.protocol_name = live.vote()
    for each_live in live.members.values():
        subscription = decode_subscription(each_live.metadata_for(live.protocol_name))
        version = 0 if subscription is None else subscription.protocol_version
        named = partitions_by_name(targets[each_live.member_id], image)
        converted = Assignment(named, None, min(version, NEWEST_VERSION))
        each_live.assignment = encode_assignment(converted)
    return live


def _draft_end(work: Work, joining: tuple[Member, Member] | None) -> None:
    """The tombstones of the whole group; its timers end."""
    group = work.group
    renamed = {} if joining is None else {joining[1].member_id: joining[0].member_id}
    ids = [renamed.get(member_id, member_id) for member_id in in_table_order(work)]
    current, target, description = (
        [RecordDraft(key(group.group_id, member_id), None) for member_id in ids]
        for key in MEMBER_KEYS[GroupType.CONSUMER]
    )
    target_epoch, *others = group_tombstones(group)
    work.records.extend((*current, *target, target_epoch, *description, *others))
    for member_id in group.members:
        work.cancel_all(member_id)
    work.cancel(TimerKind.REGEX)


def in_table_order(work: Work) -> list[str]:
    """The members in the order in which Kafka iterates its table of them."""
    return timeline_order(list(work.group.members), work.soft.table_entries_max)


def _live_member(member: Member) -> LiveMember:
    classic = member.classic
    assert classic is not None
    return LiveMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        classic.session_timeout_ms,
        tuple(JoinGroupProtocol(name, metadata) for name, metadata in classic.supported_protocols),
    )
