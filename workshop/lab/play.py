"""Plays one story on one group and writes down which epochs it began, and why."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from workshop.lab.classic import ClassicMember, rally
from workshop.lab.heartbeats import LEAVE, LEAVE_FOR_A_WHILE, MEMBERS, HeartbeatMember
from workshop.lab.story import Step, Story, is_later
from workshop.lab.world import Admin, RefusedError, World, answered

PATIENCE_S: Final = 40
BEAT_S: Final = 0.2
SETTLING_BEATS: Final = 60
LONG_SESSION_MS: Final = "600000"
GROUP_ID_NOT_FOUND: Final = 69
UNKNOWN_MEMBER_ID: Final = 25
DESCRIBES: Final[Mapping[str, str]] = {
    "share": "ShareGroupDescribe",
    "streams": "StreamsGroupDescribe",
}
IMPLICIT_EPOCH_SINCE: Final = {"consumer": "4.3", "share": "4.3", "streams": "4.2"}
"""The releases from which a new group has epoch 1 without a record of it."""
LATE: Final = frozenset({"await", "quiet"})
"""Steps that wait for what the coordinator does by itself: it may do it before the step begins."""

Row = dict[str, Any]


def played(story: Story, world: World) -> list[Row]:
    """Play it. Returns a row for each epoch, and one for the members at the end. AssertionError names the step."""
    player = _Player(story, world)
    steps = story.steps()[len(story.topics()) :]
    rows: list[Row] = []
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        expected = step.begun(world.release)
        try:
            player.do(step, player.expected + len(expected))
        except (RefusedError, OSError, AssertionError) as problem:
            raise AssertionError(f"{story.group_id}: {step.text}: {problem}") from problem
        for causes in expected:
            player.expected += 1
            rows.append(player.row(step, causes))
        if following is None or following.verb not in LATE:
            found = player.epoch()
            assert found == player.expected, (
                f"{story.group_id}: {step.text}: group epoch {found}, expected {player.expected}"
            )
    player.rest()
    rows.append(player.members())
    player.close()
    return rows


class _Player:
    """One group, its members by the letters of the story, and those who look at it."""

    def __init__(self, story: Story, world: World) -> None:
        self._story = story
        self._world = world
        self._members: dict[str, HeartbeatMember | ClassicMember] = {}
        self._connection = world.connect("lab")
        self._admin = Admin(world, self._connection)
        self._incarnation = 0
        self._configured: set[str] = set()
        self.expected = self._base()
        """The group epoch that the story expects."""

    def _base(self) -> int:
        """The epoch that a new group has before its first record."""
        joins = (step.verb for step in self._story.steps() if step.verb.startswith("join"))
        return 0 if next(joins, "") == "join-classic" else self._implicit()

    def _implicit(self) -> int:
        since = IMPLICIT_EPOCH_SINCE.get(self._story.protocol)
        return int(since is not None and not is_later(since, self._world.release))

    def row(self, step: Step, causes: Sequence[str]) -> Row:
        """What is known about the epoch that the step began."""
        return {
            "group": self._story.group_id,
            "incarnation": self._incarnation,
            "epoch": self.expected,
            "causes": list(causes),
            "step": step.text,
        }

    def members(self) -> Row:
        """Member id -> its epoch in the last answer of the broker, and the broker's description of the group."""
        epochs = {each.member_id: each.epoch for each in self._members.values() if each.alive}
        row = {"group": self._story.group_id, "incarnation": self._incarnation, "members": epochs}
        group = self._described()
        if group is not None:
            assigned = {each["member_id"]: each["assignment"] for each in group["members"]}
            row["described"] = {
                "state": group["group_state"],
                "epoch": group["group_epoch"],
                "assignment_epoch": group["assignment_epoch"],
                "assignments": {each: _partitions(assigned[each]) for each in sorted(assigned)},
            }
        return row

    def epoch(self) -> int:
        """The group epoch that the broker describes; a classic group's from its members."""
        group = self._described()
        if group is not None:
            return int(group["group_epoch"])
        classic = [each for each in self._members.values() if isinstance(each, ClassicMember)]
        return max((each.generation for each in classic if each.alive), default=self.expected)

    def _described(self) -> Row | None:
        """The broker's description of the group; None for a classic group, and before the group exists."""
        api = DESCRIBES.get(self._story.protocol, "ConsumerGroupDescribe")
        try:
            answer = answered(self._connection, api, group_ids=[self._story.group_id])
        except RefusedError as refusal:
            if refusal.code != GROUP_ID_NOT_FOUND:
                raise
            return None
        row: Row = answer["groups"][0]
        return row

    def do(self, step: Step, awaited: int) -> None:
        """Do a step; those that wait do so until the group has the awaited epoch."""
        try:
            VERBS[step.verb](self, step, awaited)
        except RefusedError as refusal:
            if refusal.code != step.refusal:
                raise
        else:
            assert not step.refusal, "it was not refused"

    def rest(self) -> None:
        """The members stay until the broker stops, whatever session the story gave them."""
        for name in self._configured:
            if name.endswith("session.timeout.ms"):
                self._admin.configure_group(self._story.group_id, {name: LONG_SESSION_MS})
                self._beat_all()

    def close(self) -> None:
        """Close the connections; no member leaves the group."""
        for member in self._members.values():
            member.connection.close()
        self._connection.close()

    # --- topics, configurations, the broker --------------------------------------------------------

    def topic(self, step: Step, _awaited: int) -> None:
        """Grows a topic that is there already."""
        name, count = step.arguments
        if name in self._world.partition_counts:
            self._admin.grow_topic(name, int(count))
        else:
            self._admin.create_topics({name: int(count)})

    def delete(self, step: Step, _awaited: int) -> None:
        self._admin.delete_topic(step.arguments[0])

    def delete_group(self, _step: Step, _awaited: int) -> None:
        self._admin.delete_group(self._story.group_id)
        self._members.clear()
        self.renew(_step, _awaited)

    def renew(self, _step: Step, _awaited: int) -> None:
        """The next join begins another group of the same name: an empty classic group is dropped for it."""
        self._incarnation += 1
        self.expected = self._implicit()

    def config(self, step: Step, _awaited: int) -> None:
        self._admin.configure_group(self._story.group_id, dict(step.options))
        self._configured |= step.options.keys()

    def restart(self, _step: Step, _awaited: int) -> None:
        self.close()
        self._world.restarts.wait()
        self._connection = self._world.connect("lab")
        self._admin = Admin(self._world, self._connection)
        for member in self._members.values():
            member.connection = self._world.connect(member.connection.client_id)

    def alter(self, step: Step, _awaited: int) -> None:
        """An administrator sets the offsets of a share group, or of one that does not exist yet, to 0."""
        (topic,) = step.arguments
        partitions = [
            {"partition_index": number, "start_offset": 0}
            for number in range(self._world.partition_counts[topic])
        ]
        answered(
            self._connection,
            "AlterShareGroupOffsets",
            group_id=self._story.group_id,
            topics=[{"topic_name": topic, "partitions": partitions}],
        )

    # --- time --------------------------------------------------------------------------------------

    def await_(self, _step: Step, awaited: int) -> None:
        self._beat_until(lambda: self.epoch() >= awaited)

    def quiet(self, step: Step, _awaited: int) -> None:
        end = time.monotonic() + float(step.arguments[0])
        self._beat_until(lambda: time.monotonic() > end)

    def settle(self, _step: Step, _awaited: int) -> None:
        """Heartbeats until all members have the group's epoch."""
        for _ in range(SETTLING_BEATS):
            epoch = self.epoch()
            if all(each.epoch == epoch for each in self._living()):
                return
            self._beat_all()
            time.sleep(0.1)
        raise AssertionError("the members do not reach the group's epoch")

    def _beat_until(self, over: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not over():
            assert time.monotonic() < deadline, "it does not happen"
            self._beat_all()
            time.sleep(BEAT_S)

    def _beat_all(self) -> None:
        called = []
        for member in self._living():
            if isinstance(member, ClassicMember):
                called += [member] if member.is_called() else []
            else:
                member.beat({})
        for member in called:
            member.send_join()
        if called:
            rally(called, list(self._classic()), self._world.partition_counts)

    # --- members -----------------------------------------------------------------------------------

    def join(self, step: Step, _awaited: int) -> None:
        """A member of the group's own protocol; `classic` joins as one of the other, also into a consumer group."""
        if self._story.protocol == "classic":
            self.join_classic(step, _awaited)
            return
        kind = MEMBERS[self._story.protocol]
        options = dict(step.options)
        member_id = options.pop("id", None) or str(uuid.uuid4())
        instance_id = options.get("instance")
        connection = self._world.connect(f"client-{step.actor}")
        member = kind(connection, self._story.group_id, member_id, instance_id)
        member.join(options)
        self._members[step.actor] = member

    def join_classic(self, step: Step, _awaited: int) -> None:
        connection = self._world.connect(f"client-{step.actor}")
        instance_id = step.options.get("instance")
        member = ClassicMember(connection, self._story.group_id, instance_id)
        self._members[step.actor] = member
        self.rejoin(step, _awaited)

    def join_consumer(self, step: Step, _awaited: int) -> None:
        member_id = str(uuid.uuid4())
        connection = self._world.connect(f"client-{step.actor}")
        instance_id = step.options.get("instance")
        member = HeartbeatMember(connection, self._story.group_id, member_id, instance_id)
        member.join(step.options)
        self._members[step.actor] = member

    def rejoin(self, step: Step, _awaited: int) -> None:
        member = self._members[step.actor]
        assert isinstance(member, ClassicMember)
        member.configure(step.options)
        member.send_join()
        others = [each for each in self._classic() if each is not member]
        rally([member], others, self._world.partition_counts)

    def beat(self, step: Step, _awaited: int) -> None:
        member = self._members[step.actor]
        assert isinstance(member, HeartbeatMember)
        member.beat(step.options)

    def leave(self, step: Step, _awaited: int) -> None:
        member = self._members[step.actor]
        if isinstance(member, HeartbeatMember):
            member.go(LEAVE)
        else:
            member.leave(step.options.get("reason"))
        self._called()

    def away(self, step: Step, _awaited: int) -> None:
        member = self._members[step.actor]
        assert isinstance(member, HeartbeatMember)
        member.go(LEAVE_FOR_A_WHILE)

    def vanish(self, step: Step, _awaited: int) -> None:
        self._members[step.actor].alive = False

    def expire(self, step: Step, awaited: int) -> None:
        """The member says nothing more; all others go on until the coordinator has noticed."""
        gone = self._members[step.actor]
        gone.alive = False
        if isinstance(gone, ClassicMember) and not any(self._living()):
            self._beat_until(self._is_empty)
        else:
            self._beat_until(lambda: self.epoch() >= awaited)

    def lag(self, step: Step, awaited: int) -> None:
        """The member gives nothing up, though it sends heartbeats, until it is removed."""
        member = self._members[step.actor]
        assert isinstance(member, HeartbeatMember)
        deadline = time.monotonic() + PATIENCE_S
        member.alive = False
        while self.epoch() < awaited:
            assert time.monotonic() < deadline, "it is not removed"
            try:
                member.stall()
            except RefusedError as refusal:
                if refusal.code != UNKNOWN_MEMBER_ID:
                    raise
            time.sleep(BEAT_S)

    def removed(self, step: Step, _awaited: int) -> None:
        """An administrator removes it: by the instance id alone, as Kafka's tool does, or by the member id."""
        member = self._members[step.actor]
        member.alive = False
        row = {
            "member_id": "" if member.instance_id else member.member_id,
            "group_instance_id": member.instance_id,
            "reason": "member was removed by an admin",
        }
        answered(self._connection, "LeaveGroup", group_id=self._story.group_id, members=[row])
        self._called()

    def _is_empty(self) -> bool:
        described = answered(self._connection, "DescribeGroups", groups=[self._story.group_id])
        return bool(described["groups"][0]["group_state"] == "Empty")

    def _called(self) -> None:
        """Classic members hear of a rebalance with their next heartbeat."""
        rally([], list(self._classic()), self._world.partition_counts)

    def _living(self) -> Iterator[HeartbeatMember | ClassicMember]:
        return (member for member in self._members.values() if member.alive)

    def _classic(self) -> Iterator[ClassicMember]:
        return (member for member in self._living() if isinstance(member, ClassicMember))


def _partitions(assignment: Mapping[str, Any]) -> dict[str, list[int]]:
    """Topic or subtopology -> partitions, of active tasks where there are kinds of tasks."""
    rows = (
        assignment["active_tasks"]
        if "active_tasks" in assignment
        else assignment["topic_partitions"]
    )
    return {
        row.get("topic_name", row.get("subtopology_id")): sorted(row["partitions"]) for row in rows
    }


VERBS: Final[Mapping[str, Callable[[_Player, Step, int], None]]] = {
    "topic": _Player.topic,
    "delete": _Player.delete,
    "delete-group": _Player.delete_group,
    "renew": _Player.renew,
    "alter": _Player.alter,
    "config": _Player.config,
    "restart": _Player.restart,
    "await": _Player.await_,
    "quiet": _Player.quiet,
    "settle": _Player.settle,
    "join": _Player.join,
    "join-classic": _Player.join_classic,
    "join-consumer": _Player.join_consumer,
    "rejoin": _Player.rejoin,
    "beat": _Player.beat,
    "leave": _Player.leave,
    "away": _Player.away,
    "vanish": _Player.vanish,
    "expire": _Player.expire,
    "lag": _Player.lag,
    "removed": _Player.removed,
}
"""What a step can do."""
