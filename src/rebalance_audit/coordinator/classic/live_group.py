"""Soft state of one classic group: its members now, its phase, and the requests that wait.

Hard state is the last finished generation (`ClassicGroup`), which only replay writes. Between two generations the truth
is here, in memory, and a fail-over loses it: the next coordinator starts again from the record.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rebalance_audit.coordinator.classic.states import ClassicEvent, ClassicState, next_state
from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_MEMBER_ID,
    JoinGroupProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import ClassicGroup
from rebalance_audit.replay.java_order import DEFAULT_CAPACITY, hash_map_order
from rebalance_audit.wire.consumer_protocol import PROTOCOL_TYPE, decode_subscription

NO_ASSIGNMENT = b""


@dataclass(slots=True)
class LiveMember:
    """One member as it is now."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[JoinGroupProtocol, ...]
    """Most preferred first. After a load only the one of the recorded generation is known."""
    assignment: bytes = NO_ASSIGNMENT
    is_new: bool = False
    """It joined in this join phase and does not know its place yet, so it cannot be expected to send heartbeats."""

    def protocol_names(self) -> set[str]:
        """Names of the protocols that the member supports."""
        return {each.name for each in self.protocols}

    def metadata_for(self, protocol_name: str | None) -> bytes:
        """What the member sent for the protocol; nothing for one that it does not support."""
        return next((each.metadata for each in self.protocols if each.name == protocol_name), b"")


@dataclass(slots=True)
class LiveGroup:
    """One classic group as it is now."""

    group_id: str
    state_since_ms: int
    """When the state was entered; after a load, what the record says, or -1 if it is too old to say."""
    state: ClassicState = ClassicState.EMPTY
    previous_state: ClassicState = ClassicState.DEAD
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_member_id: str | None = None
    members: dict[str, LiveMember] = field(default_factory=dict)
    """By member id, in the order they came."""
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id -> member id."""
    pending_members: dict[str, None] = field(default_factory=dict)
    """Member ids that were handed out (MEMBER_ID_REQUIRED) and have not joined, in that order."""
    pending_sync: dict[str, None] = field(default_factory=dict)
    """Members of the generation that have not sent SyncGroup."""
    parked_joins: dict[str, int] = field(default_factory=dict)
    """Member id -> token of its JoinGroup that waits for the end of the join phase.

    A retry replaces the previous request, which is never answered: its sender has given up on it.
    """
    parked_syncs: dict[str, int] = field(default_factory=dict)
    """Member id -> token of its SyncGroup that waits for the leader's, as `parked_joins`."""
    new_member_added: bool = False
    """A member came since the initial delay was last extended."""
    delay_ms: int = 0
    """Length of the running part of the initial delay; `delay_left_ms` is what may follow it."""
    delay_left_ms: int = 0
    subscribed_topics: frozenset[str] | None = None
    """Topics of the generation; None if its members are no consumers or a subscription is malformed."""
    group_type: ClassVar[GroupType] = GroupType.CLASSIC
    _table_slots: int = DEFAULT_CAPACITY
    _support: Counter[str] = field(default_factory=Counter)
    """Protocol name -> how many members support it."""

    @classmethod
    def from_hard(cls, hard: ClassicGroup) -> "LiveGroup":
        """The group as a coordinator knows it after loading its record: Stable or Empty, without parked requests."""
        protocol_name = hard.protocol_name
        live = cls(
            hard.group_id,
            hard.current_state_timestamp_ms,
            ClassicState.STABLE if hard.members else ClassicState.EMPTY,
            generation=hard.generation,
            protocol_type=hard.protocol_type or None,
            protocol_name=protocol_name,
            leader_member_id=hard.leader_member_id,
        )
        for member in hard.members.values():
            live.add(
                LiveMember(
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    (JoinGroupProtocol(protocol_name or "", member.subscription_bytes),),
                    member.assignment_bytes,
                )
            )
        live.note_subscribed_topics()
        return live

    # --- members -----------------------------------------------------------------------------------

    def add(self, member: LiveMember) -> None:
        """Take in a member; the first one leads."""
        if member.instance_id is not None:
            assert member.instance_id not in self.static_members
            self.static_members[member.instance_id] = member.member_id
        if self.leader_member_id is None:
            self.leader_member_id = member.member_id
        self.members[member.member_id] = member
        self._support.update(member.protocol_names())
        self.pending_members.pop(member.member_id, None)
        while len(self.members) > self._table_slots * 0.75:
            self._table_slots *= 2

    def remove(self, member_id: str) -> None:
        """Drop a member, pending or not; if it was the leader, the next one leads."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._support.subtract(member.protocol_names())
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        if self.leader_member_id == member_id:
            self.leader_member_id = next(iter(self.member_ids()), None)
        self.pending_members.pop(member_id, None)
        waiting: dict[str, Any]
        for waiting in (self.pending_sync, self.parked_joins, self.parked_syncs):
            waiting.pop(member_id, None)

    def set_protocols(self, member: LiveMember, protocols: tuple[JoinGroupProtocol, ...]) -> None:
        """The member supports these from now on."""
        self._support.subtract(member.protocol_names())
        member.protocols = protocols
        self._support.update(member.protocol_names())

    def replace_static(self, old_member_id: str, new_member_id: str) -> LiveMember:
        """Give a static member a new id: it keeps its assignment, its leadership and the sync it owes."""
        member = self.members.pop(old_member_id)
        assert member.instance_id is not None
        member.member_id = new_member_id
        member.is_new = False
        self.members[new_member_id] = member
        self.static_members[member.instance_id] = new_member_id
        if self.leader_member_id == old_member_id:
            self.leader_member_id = new_member_id
        if old_member_id in self.pending_sync:
            del self.pending_sync[old_member_id]
            self.pending_sync[new_member_id] = None
        return member

    def member_ids(self) -> list[str]:
        """Member ids in the order in which Kafka goes through them: that of a HashMap."""
        return hash_map_order(self.members, self._table_slots)

    def in_order(self) -> list[LiveMember]:
        """The members in that order."""
        return [self.members[member_id] for member_id in self.member_ids()]

    def is_leader(self, member_id: str) -> bool:
        """Whether this member leads."""
        return self.leader_member_id == member_id

    def member_error(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """NONE for a current member; who comes with an instance id must be the one that holds it."""
        if instance_id is not None:
            holder = self.static_members.get(instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def all_joined(self) -> bool:
        """Whether every expected member has a JoinGroup parked; pending members are expected too."""
        return not self.pending_members and len(self.parked_joins) == len(self.members)

    def elect_joined_leader(self) -> bool:
        """Make sure that a member that joined leads; False when there is none."""
        if self.leader_member_id in self.parked_joins:
            return True
        joined = (member_id for member_id in self.member_ids() if member_id in self.parked_joins)
        elected = next(joined, None)
        if elected is None:
            return False
        self.leader_member_id = elected
        return True

    def rebalance_timeout_ms(self) -> int:
        """The longest of the members' rebalance timeouts; 0 without members."""
        return max((each.rebalance_timeout_ms for each in self.members.values()), default=0)

    # --- protocols ---------------------------------------------------------------------------------

    def supports(self, protocol_type: str, protocols: Iterable[JoinGroupProtocol]) -> bool:
        """Whether a member with these protocols fits in: same type, and one protocol that all members support."""
        names = {each.name for each in protocols}
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type and names)
        if self.protocol_type != protocol_type:
            return False
        return not names.isdisjoint(self.candidates()) if self.members else bool(names)

    def candidates(self) -> set[str]:
        """Protocols that all members support."""
        return {name for name, count in self._support.items() if count == len(self.members) > 0}

    def vote(self) -> str:
        """The protocol of the next generation.

        Each member votes for its first candidate. Most votes win; a tie goes to the one that comes first in Kafka's map
        of votes.
        """
        candidates = self.candidates()
        votes = Counter(
            next(each.name for each in member.protocols if each.name in candidates)
            for member in self.in_order()
        )
        most = max(votes.values())
        return next(name for name in hash_map_order(votes) if votes[name] == most)

    def note_subscribed_topics(self) -> None:
        """Bring `subscribed_topics` up to date with the generation."""
        self.subscribed_topics = None
        if self.protocol_type != PROTOCOL_TYPE:
            return
        topics: set[str] = set()
        for member in self.members.values():
            subscription = decode_subscription(member.metadata_for(self.protocol_name))
            if subscription is None:
                return
            topics.update(subscription.topics)
        self.subscribed_topics = frozenset(topics)

    def group_state(self) -> str:
        """The state as Kafka prints it: the current one, even between two generations."""
        return self.state.value

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether the generation consumes the topic; True for a consumer group where it is unknown."""
        if self.subscribed_topics is None:
            return self.protocol_type == PROTOCOL_TYPE
        return topic in self.subscribed_topics

    def membership(self, member_id: str) -> JoinGroupResponse:
        """The current generation as reported to one member; its members and their metadata go to the leader alone."""
        members = self.in_order() if self.is_leader(member_id) else ()
        name = self.protocol_name
        return JoinGroupResponse(
            ErrorCode.NONE,
            member_id,
            self.generation,
            self.protocol_type,
            name,
            self.leader_member_id or UNKNOWN_MEMBER_ID,
            members=tuple(
                JoinGroupResponseMember(each.member_id, each.instance_id, each.metadata_for(name))
                for each in members
            ),
        )

    # --- state -------------------------------------------------------------------------------------

    def move(self, event: ClassicEvent, now_ms: int) -> None:
        """Go to the next state. Raises IllegalTransitionError if there is none."""
        following = next_state(self.state, event)
        self.previous_state, self.state = self.state, following
        self.state_since_ms = now_ms

    def start_generation(self, now_ms: int) -> None:
        """The join phase is over: count the generation and choose its protocol, or be empty."""
        self.generation += 1
        self.pending_sync.clear()
        self.protocol_name = self.vote() if self.members else None
        self.note_subscribed_topics()
        self.move(
            ClassicEvent.ALL_JOINED if self.members else ClassicEvent.NO_MEMBER_JOINED, now_ms
        )

    def is_initial_rebalance(self) -> bool:
        """Whether the join phase began with an empty group and so lasts at least the initial delay."""
        return (
            self.state is ClassicState.PREPARING_REBALANCE
            and self.previous_state is ClassicState.EMPTY
        )
