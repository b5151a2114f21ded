"""What members that are no consumers say of themselves, and how it changed between two generations.

Connect's workers and Streams' clients write other bytes each time they rejoin, whoever asked for it. So only those
parts count here that change for a reason of their own: a worker's config offset and address, a registry's identity. Of
a protocol that is not known all bytes count.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rebalance_audit.audit.causes.classic_scene import ClassicScene, Generation
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.verdicts.cause import Certainty, Evidence, RebalanceCause, Verdict
from rebalance_audit.replay.classic import (
    CONNECT,
    CONSUMER,
    REGISTRY,
    STREAMS,
    Kind,
    connect_tasks,
)
from rebalance_audit.replay.groups import ClassicMember
from rebalance_audit.sentences.reason import CodedReason, because
from rebalance_audit.wire.connect_protocol import WorkerState, read_worker_state
from rebalance_audit.wire.registry_protocol import RegistryIdentity, read_registry_identity

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
    if not (isinstance(had, WorkerState) and isinstance(has, WorkerState)):
        return _other_bytes(before, now)
    clauses = []
    if had.config_offset != has.config_offset:
        clauses.append(because("config_offset", before=had.config_offset, after=has.config_offset))
    if had.url != has.url:
        clauses.append(because("address", before=had.url, after=has.url))
    if had.protocol_version != has.protocol_version:
        clauses.append(
            because("protocol_version", before=had.protocol_version, after=has.protocol_version)
        )
    return clauses


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
