"""Rule: a generation has one leader, who is a member, and no member gets another one."""

from rebalance_audit.coordinator.handling import ErrorCode, Response
from rebalance_audit.coordinator.requests.classic import JoinGroupRequest, JoinGroupResponse
from rebalance_audit.replay.groups.classic_group import ClassicGroup
from rebalance_audit.sim.invariants.broken import require


class OneLeader:
    """Remembers the leader of each generation."""

    def __init__(self) -> None:
        """No leader was reported yet."""
        self._leaders: dict[str, dict[int, str]] = {}
        """Group id -> generation -> its leader."""

    def check_group(self, group: ClassicGroup) -> None:
        """Raises InvariantBrokenError where the recorded leader is not a member."""
        require(
            not group.members or group.leader_member_id in group.members,
            f"the leader {group.leader_member_id} of {group.group_id} is no member",
        )

    def check_answer(self, request: Response, response: Response) -> bool:
        """Whether this answer names a leader; raises InvariantBrokenError where it names another one than before."""
        if (
            not isinstance(response, JoinGroupResponse)
            or not isinstance(request, JoinGroupRequest)
            or response.error_code is not ErrorCode.NONE
            or not response.leader  # a classic member of a consumer group, which has no leader
        ):
            return False
        leaders = self._leaders.setdefault(request.group_id, {})
        known = leaders.get(response.generation_id)
        replaced = request.group_instance_id is not None and not request.member_id
        if known is None or replaced:
            leaders[response.generation_id] = response.leader
            return True
        require(
            known == response.leader,
            f"generation {response.generation_id} of {request.group_id} has two leaders, {known} and "
            f"{response.leader}",
        )
        return True

    def group_ids(self) -> list[str]:
        """Groups in which a leader was reported."""
        return list(self._leaders)

    def forget(self, group_id: str) -> None:
        """The group is gone, or another coordinator has loaded it: generation numbers may be used again."""
        self._leaders.pop(group_id, None)
