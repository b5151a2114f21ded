"""ListGroups, DescribeGroups and DeleteGroups."""

from typing import Final

from rebalance_audit.coordinator.classic.handlers import ClassicHandlers
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    ProtocolHandlers,
    ResultDraft,
    Route,
)
from rebalance_audit.coordinator.group_tombstones import group_tombstones
from rebalance_audit.coordinator.handling import ErrorCode, Result, answered
from rebalance_audit.coordinator.offset_removal import (
    is_empty,
    offset_tombstone,
    partitions_with_offsets,
)
from rebalance_audit.coordinator.requests.admin import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

NOT_FOUND_FROM_VERSION: Final = 6
"""DescribeGroups: before this version an unknown group is described as Dead, without an error."""


class GroupAdmin(ProtocolHandlers):
    """Serves administrators' requests about groups of all protocols."""

    def __init__(self, context: CoordinatorContext, classic: ClassicHandlers) -> None:
        """Asks the classic protocol for the state of its groups."""
        self._context = context
        self._classic = classic
        self.requests = {
            Route(ListGroupsRequest): self.list_groups,
            Route(DescribeGroupsRequest): self.describe_groups,
            Route(DeleteGroupsRequest): self.delete_groups,
        }

    def list_groups(self, request: ListGroupsRequest, token: int, _now_ms: int) -> Result:
        """Serve a ListGroups."""
        states = {text.strip().casefold() for text in request.states_filter}
        types = {text.strip().casefold() for text in request.types_filter}
        listed: list[ListedGroup] = []
        for group in sorted(self._classic.current_groups(), key=lambda each: each.group_id):
            state, type_name = group.group_state(), group.group_type.value
            if (not states or state.casefold() in states) and (not types or type_name in types):
                # `consumer`, `connect` and the like; empty for a classic group that never had members.
                protocol_type = type_name
                if isinstance(group, LiveGroup):
                    protocol_type = group.protocol_type or ""
                kind = type_name.capitalize()
                listed.append(ListedGroup(group.group_id, protocol_type, state, kind))
        return answered(token, ListGroupsResponse(ErrorCode.NONE, tuple(listed)))

    # --- DescribeGroups ----------------------------------------------------------------------------

    def describe_groups(self, request: DescribeGroupsRequest, token: int, _now_ms: int) -> Result:
        """Serve a DescribeGroups: classic groups, in their current phase."""
        described = tuple(
            self._described(group_id, request.api_version) for group_id in request.groups
        )
        return answered(token, DescribeGroupsResponse(described))

    def _described(self, group_id: str, api_version: int) -> DescribedGroup:
        live = self._classic.live(group_id)
        if live is not None:
            return _described_classic(live)
        dead = DescribedGroup(group_id, group_state=ClassicState.DEAD.value)
        if api_version < NOT_FOUND_FROM_VERSION:
            return dead
        if self._context.group(group_id) is None:
            message = f"Group {group_id} not found."
        else:
            message = f"Group {group_id} is not a classic group."
        return dead._replace(error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)

    # --- DeleteGroups ------------------------------------------------------------------------------

    def delete_groups(self, request: DeleteGroupsRequest, token: int, now_ms: int) -> Result:
        """Serve a DeleteGroups: offsets and group are deleted in one write; a group with members stays."""
        outcome = ResultDraft()
        results: list[DeletableGroupResult] = []
        for group_id in dict.fromkeys(request.groups_names):
            error = self._delete_error(group_id)
            results.append(DeletableGroupResult(group_id, error))
            if error is ErrorCode.NONE:
                self._delete(group_id, outcome, now_ms)
        outcome.reply(token, DeleteGroupsResponse(tuple(results)))
        return outcome.result()

    def _delete_error(self, group_id: str) -> ErrorCode:
        group = self._classic.current_group(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if is_empty(group) else ErrorCode.NON_EMPTY_GROUP

    def _delete(self, group_id: str, outcome: ResultDraft, now_ms: int) -> None:
        slot = self._context.shard.slot(group_id)
        if slot is not None and slot.group is not None:
            outcome.records += (
                offset_tombstone(group_id, *place) for place in partitions_with_offsets(slot)
            )
            outcome.records += group_tombstones(slot.group)
        self._classic.release(group_id, outcome, now_ms)


def _described_classic(live: LiveGroup) -> DescribedGroup:
    stable = live.state is ClassicState.STABLE
    protocol_name = live.protocol_name if stable else None
    return DescribedGroup(
        live.group_id,
        group_state=live.state.value,
        protocol_type=live.protocol_type or "",
        protocol_data=protocol_name or "",
        members=tuple(
            DescribedGroupMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.metadata_for(protocol_name),
                member.assignment,
            )
            for member in live.in_order()
        ),
    )
