"""How a classic group's life goes on as that of a consumer group."""

from rebalance_audit.audit.causes.absences import judge_absence
from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.group.life import Life
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.modern.group import ModernGroup


def upgrade(
    life: Life,
    generation: Generation,
    position: Position,
    group: ModernGroup,
    *,
    is_complete: bool = True,
) -> None:
    """The group's last classic generation ends at `position`; members that the new group lacks are gone.

    If the write is not complete, other records may still show that they came over.
    """
    life.ownership.convert(position, generation.generation)
    life.moves.clear()
    life.protocol = group.group_type
    missing = [known for known in life.watches if known not in group.members]
    for member_id in missing if is_complete else ():
        verdict = judge_absence(life.watches[member_id], position, None, None)
        life.close_member(
            member_id, position, verdict.cause, verdict.certainty, generation.generation
        )
        life.left_since += 1
    life.previous_generation = life.created_at = None
