"""What members that are no consumers say of themselves, and how it changed between two generations.

Connect's workers and Streams' clients write other bytes each time they rejoin, whoever asked for it. So only those
parts count here that change for a reason of their own: a worker's config offset and address, a registry's identity. Of
a protocol that is not known all bytes count.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rebalance_audit.audit.causes.cause import Certainty, Evidence, RebalanceCause, Verdict
from rebalance_audit.audit.causes.classic_scene import ClassicScene, Generation
from rebalance_audit.audit.causes.departures import evidence_at, join_names
from rebalance_audit.replay.classic.group import ClassicMember
from rebalance_audit.replay.classic.work import (
    CONNECT,
    CONSUMER,
    REGISTRY,
    STREAMS,
    Kind,
    connect_tasks,
)
from rebalance_audit.wire.connect_protocol import (
    CONNECTOR,
    ConnectorTasks,
    WorkerState,
    read_worker_state,
)
from rebalance_audit.wire.registry_protocol import RegistryIdentity, read_registry_identity

CLIPPED: Final = 120
"""Characters of a name that a sentence shows."""
NAMED: Final = 3
"""Members, and connectors of one worker, that a sentence names; it counts the rest."""


def generation_evidence(scene: ClassicScene, fact: str) -> tuple[Evidence, ...]:
    """The record of the generation, with the fact, and that of the one before."""
    facts = [evidence_at(scene.new.position, f"generation {scene.new.generation}: {fact}")]
    if scene.old is not None:
        old = scene.old
        facts.insert(0, evidence_at(old.position, f"generation {old.generation} before"))
    return tuple(facts)


def continuing(scene: ClassicScene) -> Iterator[tuple[ClassicMember, ClassicMember]]:
    """Members of both generations, before and now; static ones also under a new member id."""
    if scene.old is not None:
        for member_id, now in scene.new.members.items():
            before = scene.old.members.get(member_id) or scene.replaced.get(member_id)
            if before is not None:
                yield before, now


def changed_metadata(scene: ClassicScene) -> Iterator[Verdict]:
    """Members that said something else of themselves than before: one verdict for all of them."""
    kind = scene.new.kind
    differ = _DIFFERENCES.get(kind, _other_bytes)
    found = {
        now.member_id: (now, clauses)
        for before, now in continuing(scene)
        if before.subscription_bytes != now.subscription_bytes and (clauses := differ(before, now))
    }
    if not found:
        return
    told = join_names([*dict.fromkeys(clause for _, said in found.values() for clause in said)])
    members = [member for member, _ in found.values()]
    only = members[0] if len(members) == 1 else None
    whose = f"{kind.member} {only.member_id}" if only else f"{len(members)} {kind.member}s"
    detail = f"The metadata of {whose} changed: {told}.{work_sentence(scene.new)}"
    yield Verdict(
        RebalanceCause.SUBSCRIPTION_CHANGED,
        Certainty.PROVEN,
        scene.new.position.record_timestamp_ms,
        detail,
        generation_evidence(scene, f"metadata changed: {told}"),
        *((only.member_id, only.instance_id, only.client_id, only.client_host) if only else ()),
    )


def _of_worker(before: ClassicMember, now: ClassicMember) -> list[str]:
    had, has = map(read_worker_state, (before.subscription_bytes, now.subscription_bytes))
    if not (isinstance(had, WorkerState) and isinstance(has, WorkerState)):
        return _other_bytes(before, now)
    clauses = []
    if had.config_offset != has.config_offset:
        clauses.append(f"config offset {had.config_offset} to {has.config_offset}")
    if had.url != has.url:
        clauses.append(f"address {_clipped(had.url)} to {_clipped(has.url)}")
    if had.protocol_version != has.protocol_version:
        clauses.append(f"protocol version {had.protocol_version} to {has.protocol_version}")
    return clauses


def _of_registry(before: ClassicMember, now: ClassicMember) -> list[str]:
    had, has = map(read_registry_identity, (before.subscription_bytes, now.subscription_bytes))
    if not (isinstance(had, RegistryIdentity) and isinstance(has, RegistryIdentity)):
        return _other_bytes(before, now)
    clauses = []
    if had.url() != has.url():
        was, now_at = (_clipped(each.url() or "unknown") for each in (had, has))
        clauses.append(f"address {was} to {now_at}")
    if had.may_be_primary != has.may_be_primary:
        clauses.append(f"it {'may' if has.may_be_primary else 'may not'} be the primary now")
    return clauses or _other_bytes(before, now)


def _other_bytes(before: ClassicMember, now: ClassicMember) -> list[str]:
    """The bytes differ, and what they mean is not known."""
    had, has = len(before.subscription_bytes), len(now.subscription_bytes)
    return [f"{had} bytes to {has}" if had != has else f"other contents in {has} bytes"]


_DIFFERENCES: Final[Mapping[Kind, Callable[[ClassicMember, ClassicMember], list[str]]]] = {
    CONNECT: _of_worker,
    REGISTRY: _of_registry,
}


# --- what members have ---------------------------------------------------------------------------


def work_sentence(generation: Generation) -> str:
    """A sentence on what the members have after the generation, in the words of their protocol; empty if unknown."""
    kind = generation.kind
    if kind is REGISTRY:
        primaries = [member for member in generation.members.values() if kind.work(member)]
        return f" The primary is {primaries[0].member_id}." if primaries else ""
    if kind is not CONNECT:
        return ""
    told = []
    for member in generation.members.values():
        tasks = connect_tasks(member)
        if tasks:
            told.append(f"{member.member_id} runs {_tasks_text(tasks)}")
    more = len(told) - NAMED
    if more > 0:
        told[NAMED:] = [f"{more} more run others"]
    return f" Now {'; '.join(told)}." if told else ""


def _tasks_text(tasks: ConnectorTasks) -> str:
    told = [_connector_text(connector, numbers) for connector, numbers in tasks[:NAMED]]
    more = len(tasks) - NAMED
    if more > 0:
        told.append(f"parts of {more} more connectors")
    return join_names(told)


def _connector_text(connector: str, numbers: tuple[int, ...]) -> str:
    """`tasks 0 to 2 of sink`; with the connector itself where the worker runs it."""
    tasks = [number for number in numbers if number != CONNECTOR]
    parts = ["the connector"] if CONNECTOR in numbers else []
    if tasks:
        is_run = tasks == [*range(tasks[0], tasks[-1] + 1)] and len(tasks) > 2
        listed = f"{tasks[0]} to {tasks[-1]}" if is_run else _listed(tasks)
        parts.append(f"task{'s' if len(tasks) > 1 else ''} {listed}")
    return f"{' and '.join(parts)} of {_clipped(connector)}"


def _clipped(text: str) -> str:
    """What a client wrote can be 32 kB long."""
    return text if len(text) <= CLIPPED else f"{text[: CLIPPED - 1]}…"


def _listed(numbers: list[int]) -> str:
    named = ", ".join(map(str, numbers[: 2 * NAMED]))
    more = len(numbers) - 2 * NAMED
    return f"{named} and {more} more" if more > 0 else named


def in_words_of(generation: Generation, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts with the protocol of a group whose members are no plain consumers; the first with their work."""
    kind = generation.kind
    if kind is CONSUMER:
        return tuple(verdicts)
    has = work_sentence(generation)
    name = f"Protocol type {_clipped(generation.protocol_type)}"
    if kind is STREAMS:
        name = f"Protocol {generation.protocol_name}"
    owner = f" ({kind.title})" if kind.title else ""
    return tuple(
        verdict._replace(
            detail=f"{name}{owner}: {verdict.detail.removesuffix(has)}{'' if place else has}"
        )
        for place, verdict in enumerate(verdicts)
    )
