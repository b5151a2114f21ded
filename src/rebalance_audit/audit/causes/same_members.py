"""Why a generation has the same members as the one before, and what members that are no consumers say of themselves.

Connect's workers and Streams' clients write other bytes each time they rejoin, whoever asked for it. So only those
parts count here that change for a reason of their own: a worker's config offset and address, a registry's identity. Of
a protocol that is not known all bytes count.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rebalance_audit.audit.causes.classic_scene import ClassicScene, Generation
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.verdicts.cause import (
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
    possible,
    probable,
)
from rebalance_audit.replay.classic import (
    CONNECT,
    CONSUMER,
    REGISTRY,
    STREAMS,
    Kind,
    connect_tasks,
    streams_assignment,
)
from rebalance_audit.replay.groups import ClassicMember
from rebalance_audit.replay.partitions import minus
from rebalance_audit.sentences.reason import CodedReason, because
from rebalance_audit.wire.connect_protocol import read_worker_assignment, read_worker_state
from rebalance_audit.wire.embedded import Embedded
from rebalance_audit.wire.registry_protocol import RegistryIdentity, read_registry_identity
from rebalance_audit.wire.streams_protocol import ERRORS, REJOIN_AT_ONCE, REJOIN_NEVER

WORKERS_NAMED: Final = 3
"""Workers whose tasks a sentence lists; it counts the others."""


def generation_evidence(scene: ClassicScene, fact: CodedReason) -> tuple[Evidence, ...]:
    """The record of the generation, with the fact, and that of the one before."""
    new, old = scene.new, scene.old
    found = [evidence_at(new.position, "generation", epoch=new.generation, what=fact)]
    if old is not None:
        found.insert(0, evidence_at(old.position, "generation_before", epoch=old.generation))
    return tuple(found)


def verdict_on(
    scene: ClassicScene,
    member: ClassicMember | None,
    cause: RebalanceCause,
    reason: CodedReason,
    fact: CodedReason,
) -> Verdict:
    """A proven verdict on a generation, about one of its members if one is given."""
    at_ms, evidence = scene.new.position.record_timestamp_ms, generation_evidence(scene, fact)
    if member is None:
        return Verdict(cause, Certainty.PROVEN, at_ms, (reason,), evidence)
    said = member.subscription
    who = member.member_id, member.instance_id, member.client_id, member.client_host
    topics = tuple(sorted(said.topics)) if said else ()
    return Verdict(cause, Certainty.PROVEN, at_ms, (reason,), evidence, *who, topics)


def changed_members(scene: ClassicScene) -> Iterator[tuple[ClassicMember, ClassicMember]]:
    """Members of both generations that differ, before and now; static ones also under a new member id."""
    for known, now in scene.delta.differing:
        before = known or scene.replaced.get(now.member_id)
        if before is not None:
            yield before, now


def changed_metadata(scene: ClassicScene) -> Iterator[Verdict]:
    """Members that said something else of themselves than before: one verdict for all of them."""
    kind = scene.new.kind
    differ = _DIFFERENCES.get(kind, _other_bytes)
    found = {
        now.member_id: (now, clauses)
        for before, now in changed_members(scene)
        if before.subscription_bytes != now.subscription_bytes and (clauses := differ(before, now))
    }
    if not found:
        return
    changes: list[CodedReason] = []
    for _, clauses in found.values():
        changes += [clause for clause in clauses if clause not in changes]
    members = [member for member, _ in found.values()]
    only = members[0] if len(members) == 1 else None
    reason = because(
        "metadata_of_member" if only else "metadata_of_members",
        kind=kind.member,
        changes=changes,
        **({"member": only.member_id} if only else {"members": len(members)}),
    )
    fact = because("metadata_changed", changes=changes)
    yield verdict_on(scene, only, RebalanceCause.SUBSCRIPTION_CHANGED, reason, fact)


def _of_worker(before: ClassicMember, now: ClassicMember) -> list[CodedReason]:
    had, has = map(read_worker_state, (before.subscription_bytes, now.subscription_bytes))
    if not (isinstance(had, Embedded) and isinstance(has, Embedded)):
        return _other_bytes(before, now)
    pairs = (
        ("config_offset", had.fields.config_offset, has.fields.config_offset),
        ("address", had.fields.url, has.fields.url),
        ("protocol_version", had.version, has.version),
    )
    return [because(code, before=old, after=new) for code, old, new in pairs if old != new]


def _of_registry(before: ClassicMember, now: ClassicMember) -> list[CodedReason]:
    had, has = map(read_registry_identity, (before.subscription_bytes, now.subscription_bytes))
    if not (isinstance(had, RegistryIdentity) and isinstance(has, RegistryIdentity)):
        return _other_bytes(before, now)
    clauses = []
    if had.url() != has.url():
        was, now_at = (each.url() or "unknown" for each in (had, has))
        clauses.append(because("address", before=was, after=now_at))
    if had.may_be_primary != has.may_be_primary:
        clauses.append(because("may_be_primary" if has.may_be_primary else "may_not_be_primary"))
    return clauses or _other_bytes(before, now)


def _other_bytes(before: ClassicMember, now: ClassicMember) -> list[CodedReason]:
    """The bytes differ, and what they mean is not known."""
    had, has = len(before.subscription_bytes), len(now.subscription_bytes)
    if had != has:
        return [because("metadata_size", before=had, after=has)]
    return [because("metadata_content", size=has)]


_DIFFERENCES: Final[Mapping[Kind, Callable[[ClassicMember, ClassicMember], list[CodedReason]]]] = {
    CONNECT: _of_worker,
    REGISTRY: _of_registry,
}


# --- what members have ---------------------------------------------------------------------------


def _work(generation: Generation) -> CodedReason | None:
    """What the members have after the generation, in the terms of their protocol; None if unknown."""
    kind, members = generation.kind, generation.members.values()
    if kind is REGISTRY:
        primary = next((member.member_id for member in members if kind.work(member)), None)
        return None if primary is None else because("primary", member=primary)
    if kind is not CONNECT:
        return None
    workers = [
        because("worker_runs", member=member.member_id, tasks=tasks)
        for member in members
        if (tasks := connect_tasks(member))
    ]
    more = len(workers) - WORKERS_NAMED
    if more > 0:
        workers[WORKERS_NAMED:] = [
            because("other_worker") if more == 1 else because("other_workers", more=more)
        ]
    return because("workers", workers=workers) if workers else None


def with_protocol(generation: Generation, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts with the protocol of a group whose members are no plain consumers; the first with their work."""
    kind = generation.kind
    if kind is CONSUMER:
        return tuple(verdicts)
    owner = because("whose_protocol", owner=kind.title) if kind.title else None
    lead = because("of_protocol_type", protocol_type=generation.protocol_type, owner=owner)
    if kind is STREAMS:
        lead = because("of_protocol", protocol=generation.protocol_name, owner=owner)
    work = _work(generation)
    return tuple(
        verdict._replace(reasons=(lead, *verdict.reasons, *((work,) if work and not place else ())))
        for place, verdict in enumerate(verdicts)
    )


COOPERATIVE_MARK: Final = "cooperative"
"""Part of the name of every assignor that may need a second rebalance to assign what the first one revoked."""
_CLOCKS_DIFFER_MS: Final = 5_000
"""How far the clock of a client that schedules a rebalance may be from the coordinator's."""


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
    read_kind = _BY_KIND.get(scene.new.kind)
    found = _rejoined(scene, "same_metadata") if read_kind is None else read_kind(scene)
    candidates = (*unseen, RebalanceCause.ASSIGNMENT_ONLY, RebalanceCause.UNKNOWN)
    others = tuple(candidate for candidate in candidates if candidate is not found.cause)
    return found._replace(alternatives=others)


def _of_consumers(scene: ClassicScene) -> Verdict:
    old, new = scene.old, scene.new
    if old is not None and new.members:
        if old.unread() or new.unread():
            return _rejoined(scene, "unreadable_assignment")
        had, has = old.assigned(), new.assigned()
        fresh = minus(has, had)
        owned = old.owned_before()
        may_be_late = is_cooperative(old) and owned is None
        if is_cooperative(old) and owned is not None:
            revoked = minus(owned, had)
            if minus(fresh, revoked) != fresh:
                return _follow_up(scene, because("hands_out_revoked"))
        if fresh or minus(had, has):
            shares = because("other_partitions")
            changed = _favoured(scene, RebalanceCause.TOPIC_METADATA_CHANGED, shares)
            if may_be_late:
                reasons = (shares, because("owned_unreadable"))
                return possible(changed)._replace(reasons=reasons)
            return changed
    return _rejoined(scene, "same_subscriptions" if new.kind is CONSUMER else "same_topics")


def _called_for_by_streams(scene: ClassicScene) -> Verdict | None:
    """Streams' assignor says in its user data who must rejoin, and when (StreamsPartitionAssignor)."""
    old, joined_ms = scene.old, scene.new.joined_at_ms
    if old is None:
        return None
    given = [said for each in old.members.values() if (said := streams_assignment(each))]
    errors = sorted({said.error_code for said in given} - {0})
    if errors:
        text = ERRORS.get(errors[0])
        error = (
            because("error_code", code=errors[0])
            if text is None
            else because("named_error", text=text)
        )
        return _follow_up(scene, because("leader_reported", epoch=old.generation, error=error))
    due = [said.next_rebalance_ms for said in given if said.next_rebalance_ms is not None]
    at_once = due.count(REJOIN_AT_ONCE)
    if at_once:
        return _follow_up(
            scene, because("follow_up_at_once", epoch=old.generation, clients=at_once)
        )
    due_ms = min(due, default=REJOIN_NEVER)
    if due_ms == REJOIN_NEVER or joined_ms is None or joined_ms < due_ms - _CLOCKS_DIFFER_MS:
        return None
    after_ms = max(0, due_ms - old.position.record_timestamp_ms)
    return _follow_up(scene, because("probing_rebalance", epoch=old.generation, after=after_ms))


def _favoured(scene: ClassicScene, cause: RebalanceCause, reason: CodedReason) -> Verdict:
    return probable(verdict_on(scene, None, cause, reason, because("same_members")))


def _rejoined(scene: ClassicScene, code: str) -> Verdict:
    return possible(_favoured(scene, RebalanceCause.LEADER_REJOINED, because(code)))


def _follow_up(scene: ClassicScene, reason: CodedReason) -> Verdict:
    return _favoured(scene, RebalanceCause.COOPERATIVE_FOLLOW_UP, reason)


def _of_connect(scene: ClassicScene) -> Verdict:
    called_for = _called_for_by_connect(scene)
    if called_for is not None:
        return _follow_up(scene, called_for)
    before = None if scene.old is None else _all_tasks(scene.old)
    after = _all_tasks(scene.new)
    differ = before is not None and after is not None and before != after
    return _rejoined(scene, "workers_with_other_tasks" if differ else "workers_unchanged")


def _called_for_by_connect(scene: ClassicScene) -> CodedReason | None:
    """Connect's leader revokes first and assigns in the next generation, and may wait for a lost worker (KIP-415)."""
    old, joined_ms = scene.old, scene.new.joined_at_ms
    if old is None:
        return None
    reads = (read_worker_assignment(each.assignment_bytes) for each in old.members.values())
    given = [said.fields for said in reads if isinstance(said, Embedded)]
    if any(said.revoked for said in given):
        return because("revoked_tasks", epoch=old.generation)
    if any(said.error for said in given):
        return because("configs_differed", epoch=old.generation)
    delay_ms = min((said.scheduled_delay for said in given if said.scheduled_delay > 0), default=0)
    due_ms = old.position.record_timestamp_ms + delay_ms - _CLOCKS_DIFFER_MS
    if delay_ms and joined_ms is not None and joined_ms >= due_ms:
        return because("delayed_rebalance", epoch=old.generation, after=delay_ms)
    return None


def _all_tasks(generation: Generation) -> frozenset[tuple[str, int]] | None:
    """Every connector and task that runs; None if some worker's bytes do not show."""
    found: set[tuple[str, int]] = set()
    for member in generation.members.values():
        tasks = connect_tasks(member)
        if tasks is None:
            return None
        found.update((connector, number) for connector, numbers in tasks for number in numbers)
    return frozenset(found)


_BY_KIND: Final[Mapping[Kind, Callable[[ClassicScene], Verdict]]] = {
    CONSUMER: _of_consumers,
    STREAMS: lambda scene: _called_for_by_streams(scene) or _of_consumers(scene),
    CONNECT: _of_connect,
}
