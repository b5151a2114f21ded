"""Any group as requests for all protocols see it: its type, its current state, what it consumes."""

from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import ModernGroup

CurrentGroup = LiveGroup | ModernGroup


def group_type(group: CurrentGroup) -> GroupType:
    """Which protocol the group uses."""
    return group.group_type if isinstance(group, ModernGroup) else GroupType.CLASSIC


def state_name(group: CurrentGroup) -> str:
    """The state as Kafka prints it; for a classic group its current one, even between two generations."""
    return group.group_state() if isinstance(group, ModernGroup) else group.state.value


def protocol_type(group: CurrentGroup) -> str:
    """`consumer`, `connect` and the like; empty for a group that never had members."""
    if isinstance(group, ModernGroup):
        return group.group_type.value
    return group.protocol_type or ""


def is_empty(group: CurrentGroup) -> bool:
    """Whether the group may be deleted or expire."""
    if isinstance(group, ModernGroup):
        return not group.members
    return group.state is ClassicState.EMPTY


def is_subscribed_to(group: CurrentGroup, topic: str) -> bool:
    """Whether the group consumes the topic, by name or by a resolved regular expression."""
    if isinstance(group, LiveGroup):
        return group.is_subscribed_to(topic)
    return any(
        topic in member.subscribed_topic_names
        or topic in group.regexes.get(member.subscribed_topic_regex, ())
        for member in group.members.values()
    )
