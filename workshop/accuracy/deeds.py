"""What can be done to a group: the deeds of `scripts`, each a function that plans them on a stage."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Final

from rebalance_audit.coordinator.handling import TopicImage
from rebalance_audit.coordinator.requests.classic import JoinGroupResponse, SyncGroupAssignment
from rebalance_audit.sim.brokers.server_log import SERVER_LOG
from rebalance_audit.sim.clients.classic import ClassicClient
from rebalance_audit.sim.clients.client_config import Library, Traffic
from rebalance_audit.sim.clients.leader import Leader
from rebalance_audit.sim.options import Protocol
from rebalance_audit.wire.consumer_protocol import Assignment, decode_assignment, encode_assignment
from workshop.accuracy.stage import MINUTE_MS, SUBJECT, Stage

EVERYTHING: Final = ("orders", "payments", "audit")

Shares = dict[str, tuple[tuple[str, tuple[int, ...]], ...]]
"""Member id -> (topic, partitions)."""


# --- progress --------------------------------------------------------------------------------------


def slow_handover(revoke_ms: int, stage: Stage) -> None:
    """Of two members one is away for two minutes; the other takes long to give back what it got."""
    stage.at(20, partial(stage.configure, 0, revoke_ms=revoke_ms))
    stage.at(30, partial(stage.stop, 1, 120_000))


def handover_of_a_deleted_topic(stage: Stage) -> None:
    """A slow handover; a topic that must be given up is deleted meanwhile, and the member never gives it up."""
    slow_handover(900_000, stage)
    stage.at(33, partial(stage.delete_topic, "payments"))
    stage.at(45, partial(stage.configure, 0, revoke_ms=50))


def frozen_at_a_change(frozen_ms: int, stage: Stage) -> None:
    """A process stands still, for less than its session, while another one comes back."""
    stage.at(30, partial(stage.freeze, 0, frozen_ms))
    stage.at(30.02, partial(stage.stop, 1, 2_000))


def last_one_frozen(stage: Stage) -> None:
    """Of two members one leaves while the other stands still."""
    stage.at(30, partial(stage.freeze, 0, 41_000))
    stage.at(30.01, partial(stage.stop, 1, 300_000))


def one_restart(stage: Stage) -> None:
    """One process restarts."""
    stage.at(30, partial(stage.stop, 1, 5_000))


# --- work ------------------------------------------------------------------------------------------


def stalled(numbers: Sequence[int], minutes: float, stage: Stage) -> None:
    """Processes stop working while their heartbeats go on."""
    stage.at(60, partial(stage.stall, numbers, round(minutes * MINUTE_MS)))


def killed_with_a_long_session(stage: Stage) -> None:
    """A process is killed and does not come back for an hour."""
    stage.at(60, partial(stage.kill, 0, 3_600_000))


def of_one_library(library: Library, deed: Callable[[Stage], None], stage: Stage) -> None:
    """All processes have the same library."""
    for number in range(stage.setting.members):
        stage.at(0, partial(stage.configure, number, library=library))
    deed(stage)


def nothing_to_consume(stage: Stage) -> None:
    """From one minute to the other nothing more is produced, for the rest of the day."""
    for number in range(stage.setting.members):
        stage.at(60, partial(stage.configure, number, traffic=Traffic.IDLE))


# --- assignments -----------------------------------------------------------------------------------


class _BrokenLeader(Leader):
    """A leader whose assignor is wrong."""

    def __init__(self, spoil: Callable[[Shares], None]) -> None:
        super().__init__()
        self._spoil = spoil

    def assign(
        self, joined: JoinGroupResponse, image: TopicImage
    ) -> tuple[SyncGroupAssignment, ...]:
        """Spoil the right assignment."""
        shares: Shares = {}
        for assigned in super().assign(joined, image):
            assignment = decode_assignment(assigned.assignment)
            assert assignment is not None
            shares[assigned.member_id] = assignment.assigned_partitions
        self._spoil(shares)
        return tuple(
            SyncGroupAssignment(member_id, encode_assignment(Assignment(share, None)))
            for member_id, share in shares.items()
        )


def broken_assignor(spoil: Callable[[Shares], None], stage: Stage) -> None:
    """From minute 30 to minute 90 the application has an assignor that is wrong, and one restart at each."""

    def deploy(new_leader: Callable[[], Leader]) -> None:
        for instance in stage.fleet.instances:
            assert isinstance(instance.client, ClassicClient)
            instance.client.new_leader = new_leader

    stage.at(29, partial(deploy, partial(_BrokenLeader, spoil)))
    stage.at(30, partial(stage.stop, 1))
    stage.at(89, partial(deploy, Leader))
    stage.at(90, partial(stage.stop, 1))


def twice(shares: Shares) -> None:
    """One partition for two members."""
    first, second, *_ = sorted(shares, key=lambda member_id: -len(shares[member_id]))
    topic, numbers = shares[first][0]
    shares[second] = (*(each for each in shares[second] if each[0] != topic), (topic, numbers))


def without(topic: str, number: int | None, shares: Shares) -> None:
    """Take one partition, or all of a topic, from its owner."""
    for member_id, share in shares.items():
        kept = (
            (name, tuple(each for each in numbers if name != topic or number not in {None, each}))
            for name, numbers in share
        )
        shares[member_id] = tuple((name, numbers) for name, numbers in kept if numbers)
    if number is None:
        for member_id, share in shares.items():
            shares[member_id] = tuple(each for each in share if each[0] != topic)


def slow_cooperative_revocation(stage: Stage) -> None:
    """Members take 70 s to give up partitions; the follow-up hands them out."""
    for minute in (30, 60, 90):
        stage.at(minute, partial(stage.stop, 1, 120_000))


def restarts_now_and_then(minutes: float, stage: Stage) -> None:
    """Every so often another process restarts."""
    slots = cycle(range(stage.setting.members))
    stage.every(minutes, lambda: stage.stop(next(slots), 3_000), 20, stage.minutes - 20)


# --- subscriptions ---------------------------------------------------------------------------------


def static_return(topics: tuple[str, ...], stage: Stage) -> None:
    """A static member comes back with these topics; an hour later another one is gone for long."""
    stage.at(30, partial(stage.configure, 1, topics=topics))
    stage.at(30, partial(stage.stop, 1, 4_000))
    stage.at(90, partial(stage.stop, 2, 120_000))


def two_expressions(second: str, stage: Stage) -> None:
    """One member writes its expression another way."""
    stage.at(0, partial(stage.configure, 0, regex=second))


def flapping_topic(stage: Stage) -> None:
    """For an hour a topic of the group comes and goes, every 90 s."""
    stage.every(1.5, partial(stage.toggle_topic, "audit", 3), 30, 90)


def flapping_subscription(stage: Stage) -> None:
    """For an hour one member changes its mind every 90 s."""

    def change() -> None:
        client = stage.client(0)
        client.subscribe(
            ("orders",) if "payments" in client.config.topics else ("orders", "payments")
        )

    stage.every(1.5, change, 30, 90)


def rollout_of_a_subscription(stage: Stage) -> None:
    """One process after the other subscribes to another topic as well, once."""
    for number in range(stage.setting.members):
        stage.at(30 + number, partial(stage.subscribe, number, EVERYTHING))


# --- members ---------------------------------------------------------------------------------------


def slow_polls(every_minutes: float, stage: Stage) -> None:
    """One process exceeds max.poll.interval.ms by half a minute, again and again for two hours."""
    stage.every(every_minutes, lambda: stage.client(2).process_slowly(330_000), 20, 140)


def crash_loops(stage: Stage) -> None:
    """For ten minutes all processes restart 20 s after they started, each on its own."""
    for number in range(stage.setting.members):
        stage.every(0.4, partial(stage.stop, number, 2_000), 30 + number / 30, 40)


def killed_together(stage: Stage) -> None:
    """A rack with four of six processes is without power for ten minutes."""
    stage.at(30, partial(stage.kill_all, range(4), 600_000))


def killed_now_and_then(stage: Stage) -> None:
    """Four kills in two hours."""
    for number in range(4):
        stage.at(30 + 30 * number, partial(stage.kill, number, 60_000))


def contested_instance(stage: Stage) -> None:
    """For two hours two processes with one instance id start in turn, each 90 s after the other."""
    stage.at(10, lambda: _contest(stage))


def _contest(stage: Stage) -> None:
    twin = stage.twin_of(1)

    def twin_starts() -> None:
        stage.hold_back(1, 90_000)
        if not twin.running:
            twin.start()

    stage.every(3, twin_starts, 20, 140)
    stage.at(142, twin.crash)


def refused_twin(stage: Stage) -> None:
    """Every five minutes for an hour a second process asks for an instance id that is taken."""
    stage.at(10, lambda: _ask_in_vain(stage))


def _ask_in_vain(stage: Stage) -> None:
    twin = stage.twin_of(1)
    stage.every(5, lambda: None if twin.running else twin.start(), 20, 80)
    stage.at(85, twin.crash)


# --- deploys and protocols -------------------------------------------------------------------------


def rolling_restart(pause_minutes: float, stage: Stage) -> None:
    """Every process restarts once, in its turn."""
    stage.at(60, partial(stage.restart_all, pause_minutes, 5_000))


def change_some(numbers: Sequence[int], protocol: Protocol, pause: float, stage: Stage) -> None:
    """These processes restart in turn with another group protocol."""
    for place, number in enumerate(numbers):
        stage.at(30 + place * pause, partial(stage.change_protocol, number, protocol))


# --- the coordinator and the log -------------------------------------------------------------------


def move(lost: Sequence[int], stage: Stage) -> None:
    """The coordinator's broker dies, and with it the machine of these processes; they are back after five minutes."""
    stage.at(30, stage.fail_over)
    stage.at(30, partial(stage.kill_all, lost, 300_000))


def move_and_one_stop(stage: Stage) -> None:
    """The broker dies; half a minute later somebody restarts one of six processes."""
    stage.at(30, stage.fail_over)
    stage.at(30.5, partial(stage.stop, 3))


def lost_segments(folder: Path) -> None:
    """Segments in the middle of the log are gone."""
    segments = sorted(folder.rglob("*.log"))
    segments = [path for path in segments if path.parent.name.startswith("__consumer_offsets")]
    middle = len(segments) // 2
    for path in segments[middle : middle + 2]:
        path.unlink()


def altered_broker_log(folder: Path) -> None:
    """The broker's log is of a cluster in which the group had more members."""
    path = folder / SERVER_LOG
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text(
        "".join(
            line.replace("with 6 members", "with 9 members") if SUBJECT in line else line
            for line in lines
        ),
        "utf-8",
    )


def refused_upgrade(folder: Path) -> None:
    """The coordinator logged that it does not convert the group, beside the end of a generation."""
    path = folder / SERVER_LOG
    lines = path.read_text("utf-8").splitlines(keepends=True)
    (at, ended) = next(
        (at, line) for at, line in enumerate(lines) if f"Stabilized group {SUBJECT} " in line
    )
    head = ended.split("Stabilized group")[0]
    why = "to consumer group because the online upgrade is disabled."
    lines.insert(at + 2, f"{head}Cannot upgrade classic group {SUBJECT} {why}\n")
    path.write_text("".join(lines), "utf-8")


def gone(stage: Stage) -> None:
    """The application is switched off."""
    stage.at(30, stage.leave_for_good)
