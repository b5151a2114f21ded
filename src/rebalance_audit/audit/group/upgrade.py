"""How a classic group's life goes on as that of a consumer group."""

from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.causes.modern_evidence import WriteEvidence
from rebalance_audit.audit.group.life import Life
from rebalance_audit.replay.changes import GroupCreated, GroupType, Position
from rebalance_audit.replay.groups.modern_group import ModernGroup


def upgrade(life: Life, generation: Generation, position: Position, group: ModernGroup) -> None:
    """The group's last classic generation ends at `position`; members that the new group lacks are gone."""
    _convert(life, generation, position, group)
    for member_id in [known for known in life.watches if known not in group.members]:
        verdict = life.ends.judge_unseen(life.watches[member_id], position)
        life.close_member(
            member_id, position, verdict.cause, verdict.certainty, generation.generation
        )
        life.left_since += 1


def lacks_tombstone(life: Life, evidence: WriteEvidence) -> bool:
    """Whether a consumer group's record took the place of a classic group whose tombstone is missing."""
    return (
        life.previous_generation is not None
        and not life.deleted
        and any(
            change.replaced is GroupType.CLASSIC for change in evidence.kinds.get(GroupCreated, ())
        )
    )


def upgrade_in_part(life: Life, position: Position, group: ModernGroup) -> None:
    """Records of an upgrade are missing before `position`: later ones may still show which members came over."""
    assert life.previous_generation is not None
    _convert(life, life.previous_generation, position, group)
    life.doubt()
    life.gap = True


def _convert(life: Life, generation: Generation, position: Position, group: ModernGroup) -> None:
    life.ownership.convert(position, generation.generation)
    life.moves.clear()
    life.protocol = group.group_type
    life.previous_generation = life.created_at = None
