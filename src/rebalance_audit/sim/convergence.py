"""Who blocks whom: sentences that say why a group has not converged. No sentence means that it has."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.ledger import newest
from rebalance_audit.replay.groups import STABLE, UNREVOKED, Group, ModernGroup
from rebalance_audit.replay.partitions import each, text_of
from rebalance_audit.sim.brokers.broker import ServedPartition
from rebalance_audit.sim.clients.share import ShareClient
from rebalance_audit.sim.clients.streams import task_key
from rebalance_audit.sim.fleet import Fleet
from rebalance_audit.sim.holdings import HeldPartition
from rebalance_audit.sim.options import Protocol
from rebalance_audit.wire.generated.messages import ShareGroupStatePartitionMetadataKey


def pending(fleet: Fleet) -> Iterator[str]:
    """What the group still waits for."""
    group_id = fleet.plan.group_id
    served = fleet.cluster.partition_of(group_id)
    if not served.is_active:
        yield f"{group_id}: its coordinator is loading"
        return
    if fleet.is_deploying:
        yield f"{group_id}: a deploy is under way"
    for client in fleet.clients:
        if not client.running:
            yield f"{group_id}: {client.name} does not run ({client.failure})"
        elif client.busy_until_ms > fleet.cluster.scheduler.now_ms:
            yield f"{group_id}: {client.name} does not poll"
        else:
            waiting = client.is_settled()
            if waiting is not None:
                yield f"{group_id}: {waiting}"
    if not _waits_for_deleted(fleet, served):
        yield from _group_pending(fleet, served)
    yield from _partitions_pending(fleet)


def _group(served: ServedPartition, group_id: str) -> Group | None:
    slot = served.shard.slot(group_id)
    return None if slot is None else slot.group


def _waits_for_deleted(fleet: Fleet, served: ServedPartition) -> bool:
    """Whether a share group has a deleted topic initialised, so that it never comes to rest: docs/simulator.md."""
    group_id = fleet.plan.group_id
    known = newest(served.shard, ShareGroupStatePartitionMetadataKey(group_id))
    group = _group(served, group_id)
    if known is None or not isinstance(group, ModernGroup):
        return False
    names = {name for member in group.members.values() for name in member.subscribed_topic_names}
    image = fleet.cluster.topics.image
    return any(
        topic.topic_name in names and image.topic_by_id(topic.topic_id) is None
        for topic in known.initialized_topics
    )


def _group_pending(fleet: Fleet, served: ServedPartition) -> Iterator[str]:
    group_id = fleet.plan.group_id
    group = _group(served, group_id)
    expected = {client.member_id for client in fleet.clients}
    if isinstance(group, ModernGroup):
        members = set(group.members)
        yield from _modern_pending(group)
    else:
        live = served.coordinator.live_group(group_id)
        members = set() if live is None else set(live.members)
        if live is not None and live.state is not ClassicState.STABLE:
            waiting = sorted(set(live.members) - set(live.parked_joins))
            yield f"{group_id} is {live.state.value}, waits for {waiting or sorted(live.pending_sync)}"
    for member_id in sorted(members - expected):
        yield f"{group_id}: member {member_id} has no client"
    for member_id in sorted(expected - members):
        yield f"{group_id}: {member_id!r} is no member"


def _modern_pending(group: ModernGroup) -> Iterator[str]:
    if group.group_epoch > group.assignment_epoch:
        yield (
            f"{group.group_id} is at group epoch {group.group_epoch} and its target at "
            f"{group.assignment_epoch}"
        )
    for member_id in sorted(group.unconverged):
        member = group.members[member_id]
        if member.member_state == UNREVOKED:
            held = ", ".join(
                f"{text_of(topic)}-{number}"
                for topic, numbers in member.pending_revocation.items()
                for number in sorted(numbers)
            )
            yield f"{group.group_id}: {member_id} has to give up {held}"
        elif member.member_state == STABLE:
            yield f"{group.group_id}: {member_id} is at epoch {member.member_epoch}"
        else:
            target = group.target_of(member_id)
            blockers = sorted(
                {
                    owner
                    for topic, numbers in target.items()
                    for number in numbers
                    if (owner := group.owners.get((topic, number))) not in {None, member_id}
                    and owner is not None
                }
            )
            yield f"{group.group_id}: {member_id} waits for {', '.join(blockers)}"


def _partitions_pending(fleet: Fleet) -> Iterator[str]:
    if fleet.plan.protocol is Protocol.SHARE:
        shared: set[HeldPartition] = set()
        for client in fleet.clients:
            if isinstance(client, ShareClient):
                shared |= client.shares
        yield from _missing(fleet, shared)
        return
    holders = fleet.cluster.holdings.holders(fleet.plan.group_id)
    for partition, clients in holders.items():
        if len(clients) > 1:
            names = ", ".join(sorted(client.name for client in clients))
            yield f"{fleet.plan.group_id}: {partition} is used by {names}"
    if fleet.plan.static and fleet.plan.protocol is not Protocol.CONSUMER:
        # A static classic member that returns with another subscription, or a leader that missed the growth of a topic
        # while it was away, causes no rebalance: partitions can stay without an owner for good.
        return
    if fleet.plan.protocol is Protocol.STREAMS:
        # A client that missed the answer with its tasks hears of them again only when they change: docs/simulator.md.
        yield from _missing(fleet, _assigned_tasks(fleet))
        return
    yield from _missing(fleet, holders.keys())


def _missing(fleet: Fleet, used: AbstractSet[HeldPartition]) -> Iterator[str]:
    missing = fleet.expected_partitions() - used
    if missing:
        yield f"{fleet.plan.group_id}: no member uses {sorted(missing)[:5]}"


def _assigned_tasks(fleet: Fleet) -> set[HeldPartition]:
    group_id = fleet.plan.group_id
    group = _group(fleet.cluster.partition_of(group_id), group_id)
    if not isinstance(group, ModernGroup):
        return set()
    return {
        task_key((str(name), number))
        for member in group.members.values()
        for name, number in each(member.assigned)
    }
