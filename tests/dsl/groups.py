"""Groups that records lead to: replayed from the shorthand, and shown in one line."""

from typing import Any

from rebalance_audit.replay.changes import Anomaly, Change, Position
from rebalance_audit.replay.groups import ClassicGroup, GroupSlot, ModernGroup
from rebalance_audit.replay.playback import apply
from rebalance_audit.replay.step import Policy
from tests.dsl.partitions import partitions_text
from tests.dsl.records import GROUP_ID, records


def replay(
    slot: GroupSlot, lines: str, policy: Policy = Policy.STRICT, **where: Any
) -> list[Change]:
    """Apply records at the next offsets of the slot; `where` overrides fields of each position."""
    changes: list[Change] = []
    for record in records(lines):
        log_offset = slot.last_log_offset + 1
        position = Position(0, log_offset, 1000 + log_offset)._replace(**where)
        changes += apply(slot, record, position, policy)
        assert_derived_values_hold(slot, policy)
    return changes


def replayed(lines: str, policy: Policy = Policy.STRICT) -> GroupSlot:
    """A new slot with the records applied."""
    slot = GroupSlot(GROUP_ID)
    replay(slot, lines, policy)
    return slot


def anomalies(changes: list[Change]) -> list[str]:
    """The kinds of anomaly among the changes, in order."""
    return [change.kind.value for change in changes if isinstance(change, Anomaly)]


def assert_derived_values_hold(slot: GroupSlot, policy: Policy) -> None:
    """What replay keeps up record by record equals what one pass over the members gives.

    Where records came in disorder a partition may be without an owner although a member still claims it: another one
    took it and gave it up.
    """
    group = slot.group
    if not isinstance(group, ModernGroup):
        return
    assert group.unconverged == {
        member.member_id
        for member in group.members.values()
        if (member.member_state, member.member_epoch) != ("STABLE", group.assignment_epoch)
    }
    holders: dict[tuple[bytes | str, int], set[str]] = {}
    for member in group.members.values():
        for held in (member.assigned, member.pending_revocation):
            for topic, numbers in held.items():
                for number in numbers:
                    holders.setdefault((topic, number), set()).add(member.member_id)
    for partition, owner in group.owners.items():
        assert owner in holders[partition]
    if group.group_type == "share":
        assert not group.owners
    elif policy is Policy.STRICT and all(len(members) == 1 for members in holders.values()):
        assert group.owners.keys() == holders.keys()
    for instance_id, member_id in group.static_members.items():
        assert group.members[member_id].instance_id == instance_id


def picture(slot: GroupSlot) -> str:
    """The slot in one line: type, state, epochs, then each member and, where they differ, its target."""
    group = slot.group
    if group is None:
        return "gone"
    if isinstance(group, ClassicGroup):
        members = [
            f"{name} {partitions_text(member.assigned)}"
            for name, member in sorted(group.members.items())
        ]
        return " | ".join([f"Classic {group.group_state()} {group.generation}", *members])
    members = []
    for name, member in sorted(group.members.items()):
        held = partitions_text(member.assigned)
        if member.pending_revocation:
            held += " gives up " + partitions_text(member.pending_revocation)
        epochs = f"{member.member_epoch}/{member.previous_member_epoch}"
        row = f"{name} {epochs} {member.member_state} {held}"
        target = partitions_text(group.target_of(name))
        members.append(row if target == held else f"{row} wants {target}")
    epochs = f"{group.group_epoch}/{group.assignment_epoch}"
    return " | ".join([f"{group.group_type.capitalize()} {group.group_state()} {epochs}", *members])
