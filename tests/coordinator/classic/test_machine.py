"""Random runs of one classic group: members join, leave, fall silent, restart; coordinators fail over."""

from collections import defaultdict
from typing import Any

from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from hypothesis.strategies import booleans, integers, sampled_from, sets

from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode
from rebalance_audit.coordinator.requests.classic import JoinGroupResponse, SyncGroupResponse
from rebalance_audit.replay.groups import ClassicGroup
from rebalance_audit.wire.generated.messages import GroupMetadataValue, RecordType
from tests.coordinator.classic.stage import Client, Stage
from tests.support.examples import examples

CLIENTS = ("A", "B", "C", "D@i1", "E@i2", "F@i2")
PROTOCOLS = ("range", "sticky", "range,sticky", "sticky,range")


class ClassicGroupMachine(RuleBasedStateMachine):
    """A group of up to six clients, two with one instance id; what each was assigned is kept by generation."""

    @initialize(
        limit=sampled_from([3, 5, 100]), delay_ms=sampled_from([0, 3_000]), recorded=booleans()
    )
    def start(self, limit: int, delay_ms: int, recorded: bool) -> None:
        """Some settings, and no members."""
        self.stage = Stage(
            CoordinatorConfig(
                group_max_size=limit,
                group_initial_rebalance_delay_ms=delay_ms,
                classic_creation_recorded=recorded,
            )
        )
        self.fail_overs = 0
        self.leaders: dict[tuple[int, int, int], set[str]] = defaultdict(set)
        self.assigned: dict[tuple[int, int, int], dict[str, set[bytes]]] = defaultdict(dict)
        self.heard = 0

    def play(self, step: str) -> None:
        """One step; the stage checks its own invariants after it."""
        self.stage.play(step)
        new = list(self.stage.driver.replies.items())[self.heard :]
        self.heard += len(new)
        for token, reply in new:
            self._note(self.stage._senders[token], reply)

    def _counted(self, generation: int) -> tuple[int, int, int]:
        """A name for a generation that distinguishes it from others of the same number.

        Numbers are reused after a coordinator was lost before the record, and after the group was deleted.
        """
        deletions = sum(
            entry.record is not None
            and entry.record.record_type is RecordType.GROUP_METADATA
            and entry.record.value is None
            for entry in self.stage.driver.log
        )
        return self.fail_overs, deletions, generation

    def _note(self, client: Client, reply: Any) -> None:
        if not isinstance(reply, JoinGroupResponse | SyncGroupResponse):
            return
        if isinstance(reply, JoinGroupResponse):
            if reply.error_code is ErrorCode.NONE and reply.members and not reply.skip_assignment:
                self.leaders[self._counted(reply.generation_id)].add(reply.leader)
        elif reply.error_code is ErrorCode.NONE:
            by_client = self.assigned[self._counted(client.generation)]
            by_client.setdefault(client.name, set()).add(reply.assignment)
        if reply.error_code in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}:
            client.member_id, client.generation = "", -1

    @rule(name=sampled_from(CLIENTS), protocols=sampled_from(PROTOCOLS))
    def join(self, name: str, protocols: str) -> None:
        """A client joins, or joins again."""
        self.play(f"join {name} protocols={protocols} session=10000 rebalance=20000")

    @rule(name=sampled_from(CLIENTS))
    def sync(self, name: str) -> None:
        """A client syncs; a leader brings an assignment that names the generation."""
        client = self.stage._client(name)
        live = self.stage.live()
        given = ""
        if live is not None and live.leader_member_id == client.member_id:
            members = [member_id for member_id in live.members if member_id in self.stage._names]
            given = " ".join(
                f"{self.stage.name_of(member_id)}={index}"
                for index, member_id in enumerate(members)
            )
        self.play(f"sync {name} {given}")

    @rule(name=sampled_from(CLIENTS))
    def beat(self, name: str) -> None:
        """A client sends a heartbeat."""
        self.play(f"beat {name}")

    @rule(name=sampled_from(CLIENTS))
    def commit(self, name: str) -> None:
        """A client commits an offset."""
        self.play(f"commit {name} foo:0=7")

    @rule(name=sampled_from(CLIENTS))
    def leave(self, name: str) -> None:
        """A client leaves."""
        self.play(f"leave {name}")

    @rule(instances=sets(sampled_from(["@i1", "@i2", "@i3"]), min_size=1))
    def remove(self, instances: set[str]) -> None:
        """An administrator removes static members."""
        self.play(f"remove {','.join(sorted(instances))}")

    @rule(name=sampled_from(CLIENTS))
    def restart(self, name: str) -> None:
        """A client forgets its member id."""
        self.play(f"restart {name}")

    @rule(duration_ms=integers(1, 12_000))
    def wait(self, duration_ms: int) -> None:
        """Time passes, from timer to timer, so that each answer is noted when it is given."""
        driver = self.stage.driver
        until_ms = driver.now_ms + duration_ms
        while driver.now_ms < until_ms:
            due_ms = driver.next_deadline_ms() or until_ms
            self.play(f"wait {max(0, min(due_ms, until_ms) - driver.now_ms)}")

    @rule(duration_ms=sampled_from([25_000, 700_000]))
    def wait_long(self, duration_ms: int) -> None:
        """Enough for every timer, or for the clean-up."""
        self.wait(duration_ms)

    @precondition(lambda self: len(self.stage.driver.log) > 1)
    @rule()
    def fail_over(self) -> None:
        """Another coordinator takes over."""
        self.fail_overs += 1
        self.play("failover")

    @invariant()
    def one_leader_of_each_generation(self) -> None:
        """No other client got the members of a generation to assign to."""
        if not hasattr(self, "stage"):
            return
        for leaders in self.leaders.values():
            assert len(leaders) <= 1

    @invariant()
    def one_assignment_of_each_generation(self) -> None:
        """A client that asks again gets the same answer."""
        if not hasattr(self, "stage"):
            return
        for by_client in self.assigned.values():
            for assignments in by_client.values():
                assert len(assignments) == 1

    @invariant()
    def recorded_generations_only_grow(self) -> None:
        """Within the group's life; a static member's return repeats the generation and its assignments."""
        if not hasattr(self, "stage"):
            return
        last: GroupMetadataValue | None = None
        for entry in self.stage.driver.log:
            value = None if entry.record is None else entry.record.value
            if (
                entry.record is not None
                and entry.record.record_type is RecordType.GROUP_METADATA
                and value is None
            ):
                last = None
            if isinstance(value, GroupMetadataValue):
                if last is not None and value.generation == last.generation:
                    assert sorted(each.assignment for each in value.members) == sorted(
                        each.assignment for each in last.members
                    )
                assert last is None or value.generation >= last.generation
                last = value

    @invariant()
    def leaders_are_members(self) -> None:
        """The record names a leader that is a member."""
        if not hasattr(self, "stage"):
            return
        hard = self.stage.driver.group()
        if isinstance(hard, ClassicGroup) and hard.members:
            assert hard.leader_member_id in hard.members

    def teardown(self) -> None:
        """When all clients are silent long enough, the group is empty, and no request waits for an answer."""
        if not hasattr(self, "stage"):
            return
        self.stage.play("wait 400000")
        live = self.stage.live()
        assert live is None or live.state is ClassicState.EMPTY
        assert live is None or not (live.parked_joins or live.parked_syncs or live.pending_members)


ClassicGroupMachine.TestCase.settings = settings(
    max_examples=examples(50), stateful_step_count=50, deadline=None
)

TestClassicGroup = ClassicGroupMachine.TestCase
"""One leader and one assignment per generation; replay of the records equals what was kept; counters only grow."""
