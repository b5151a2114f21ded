"""Why a generation has the same members as the one before: what the assignments and the members' own bytes tell."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.cause import Certainty, RebalanceCause, Verdict
from rebalance_audit.audit.causes.classic_scene import ClassicScene, Generation
from rebalance_audit.audit.causes.member_metadata import generation_evidence, work_sentence
from rebalance_audit.audit.findings.finding import spell_ms
from rebalance_audit.replay.classic.work import (
    CONNECT,
    CONSUMER,
    STREAMS,
    Kind,
    connect_tasks,
    streams_assignment,
)
from rebalance_audit.replay.partitions import minus
from rebalance_audit.wire.connect_protocol import WorkerAssignment, read_worker_assignment
from rebalance_audit.wire.streams_protocol import ERRORS, REJOIN_AT_ONCE, REJOIN_NEVER

COOPERATIVE_MARK: Final = "cooperative"
"""Part of the name of every assignor that may need a second rebalance to assign what the first one revoked."""
_CLOCKS_DIFFER_MS: Final = 5_000
"""How far the clock of a client that schedules a rebalance may be from the coordinator's."""


class Reading(NamedTuple):
    """What the records favour."""

    cause: RebalanceCause
    detail: str
    certainty: Certainty = Certainty.PROBABLE


def is_cooperative(generation: Generation) -> bool:
    """Whether the assignor is a cooperative one; its members may still be eager.

    Streams' assignor is, since its members list what they own (KIP-429, 2.4).
    """
    if COOPERATIVE_MARK in (generation.protocol_name or ""):
        return True
    return generation.kind is STREAMS and any(
        numbers
        for member in generation.members.values()
        if member.subscription is not None
        for _, numbers in member.subscription.owned_partitions
    )


def may_follow_up(old: Generation) -> bool:
    """Whether the generation may have called for another one that leaves no other trace."""
    return is_cooperative(old) or old.kind is STREAMS or old.kind is CONNECT


def same_members(scene: ClassicScene, unseen: Sequence[RebalanceCause]) -> Verdict:
    """The verdict for the same members and subscriptions; `unseen`: causes that would leave no trace."""
    read = _READINGS.get(scene.new.kind, _of_unknown)(scene)
    candidates = (*unseen, RebalanceCause.ASSIGNMENT_ONLY, RebalanceCause.UNKNOWN)
    return Verdict(
        read.cause,
        read.certainty,
        scene.new.position.record_timestamp_ms,
        read.detail,
        generation_evidence(scene, "same members"),
        alternatives=tuple(candidate for candidate in candidates if candidate is not read.cause),
    )


def _of_consumers(scene: ClassicScene) -> Reading:
    old, new = scene.old, scene.new
    if old is not None and new.members:
        if old.unread() or new.unread():
            return Reading(
                RebalanceCause.LEADER_REJOINED,
                "Members and subscriptions are the same. An assignment cannot be read, so whether the same "
                "partitions are assigned is not known.",
                Certainty.POSSIBLE,
            )
        fresh = minus(new.assigned(), old.assigned())
        owned = old.owned_before()
        may_be_late = is_cooperative(old) and owned is None
        if is_cooperative(old) and owned is not None:
            revoked = minus(owned, old.assigned())
            if minus(fresh, revoked) != fresh:
                return Reading(
                    RebalanceCause.COOPERATIVE_FOLLOW_UP,
                    "It hands out partitions that the generation before only revoked.",
                )
        if fresh or minus(old.assigned(), new.assigned()):
            detail = "The same members share another set of partitions."
            if may_be_late:
                return Reading(
                    RebalanceCause.TOPIC_METADATA_CHANGED,
                    f"{detail} What they owned before cannot be read.",
                    Certainty.POSSIBLE,
                )
            return Reading(RebalanceCause.TOPIC_METADATA_CHANGED, detail)
    return Reading(
        RebalanceCause.LEADER_REJOINED,
        "Members and subscriptions are the same.",
        Certainty.POSSIBLE,
    )


def _of_streams(scene: ClassicScene) -> Reading:
    """Streams' assignor says in its user data who is to rejoin, and when (StreamsPartitionAssignor)."""
    old = scene.old
    told = [
        said
        for member in (old.members.values() if old is not None else ())
        if (said := streams_assignment(member)) is not None
    ]
    assert old is not None or not told
    errors = sorted({said.error_code for said in told} - {0})
    if old is not None and errors:
        what = ERRORS.get(errors[0], f"error code {errors[0]}")
        return Reading(
            RebalanceCause.COOPERATIVE_FOLLOW_UP,
            f"In generation {old.generation} the leader reported {what}, after which the clients rejoin.",
        )
    at_once = [said for said in told if said.next_rebalance_ms == REJOIN_AT_ONCE]
    if old is not None and at_once:
        clients = "1 client" if len(at_once) == 1 else f"{len(at_once)} clients"
        return Reading(
            RebalanceCause.COOPERATIVE_FOLLOW_UP,
            f"A follow-up rebalance: in generation {old.generation} the leader asked {clients} to rejoin at once, "
            "because tasks change their owner.",
        )
    scheduled = [
        said.next_rebalance_ms
        for said in told
        if said.next_rebalance_ms not in (None, REJOIN_NEVER)
    ]
    due_ms = min((each for each in scheduled if each is not None), default=None)
    joined_ms = scene.new.joined_at_ms
    if old is not None and due_ms is not None and joined_ms is not None:
        late_ms = joined_ms - due_ms
        if late_ms >= -_CLOCKS_DIFFER_MS:
            return Reading(
                RebalanceCause.COOPERATIVE_FOLLOW_UP,
                f"A probing rebalance: generation {old.generation} scheduled it for "
                f"{spell_ms(max(0, due_ms - old.position.record_timestamp_ms))} later, to move tasks to clients that have "
                "restored their state.",
            )
    return _of_consumers(scene)


def _of_connect(scene: ClassicScene) -> Reading:
    """Connect's leader revokes first and assigns in the next generation, and may wait for a lost worker (KIP-415)."""
    old, new = scene.old, scene.new
    told = [
        said
        for member in (old.members.values() if old is not None else ())
        if isinstance(said := read_worker_assignment(member.assignment_bytes), WorkerAssignment)
    ]
    now = work_sentence(new)
    if old is not None and any(said.revoked for said in told):
        return Reading(
            RebalanceCause.COOPERATIVE_FOLLOW_UP,
            f"Generation {old.generation} revoked connectors or tasks, which this one hands out.{now}",
        )
    delays = [said.scheduled_delay_ms for said in told if said.scheduled_delay_ms > 0]
    if old is not None and delays:
        return Reading(
            RebalanceCause.COOPERATIVE_FOLLOW_UP,
            f"Generation {old.generation} scheduled it {spell_ms(min(delays))} later, as tasks of a lost worker wait for "
            f"its return.{now}",
        )
    errors = sorted({said.error for said in told} - {0})
    if old is not None and errors:
        return Reading(
            RebalanceCause.COOPERATIVE_FOLLOW_UP,
            f"In generation {old.generation} the leader reported error {errors[0]}: workers had read different "
            f"configurations, and rejoin.{now}",
        )
    before = None if old is None else _all_tasks(old)
    after = _all_tasks(new)
    if before is not None and after is not None and before != after:
        return Reading(
            RebalanceCause.LEADER_REJOINED,
            f"Workers and their config offsets are the same, and other connectors or tasks run.{now}",
            Certainty.POSSIBLE,
        )
    return Reading(
        RebalanceCause.LEADER_REJOINED,
        f"Workers and their config offsets are the same.{now}",
        Certainty.POSSIBLE,
    )


def _all_tasks(generation: Generation) -> frozenset[tuple[str, int]] | None:
    """Every connector and task that runs; None if some worker's bytes do not tell."""
    found: set[tuple[str, int]] = set()
    for member in generation.members.values():
        tasks = connect_tasks(member)
        if tasks is None:
            return None
        found.update((connector, number) for connector, numbers in tasks for number in numbers)
    return frozenset(found)


def _of_unknown(scene: ClassicScene) -> Reading:
    return Reading(
        RebalanceCause.LEADER_REJOINED,
        f"Members and their metadata are the same.{work_sentence(scene.new)}",
        Certainty.POSSIBLE,
    )


_READINGS: Final[Mapping[Kind, Callable[[ClassicScene], Reading]]] = {
    CONSUMER: _of_consumers,
    STREAMS: _of_streams,
    CONNECT: _of_connect,
}
