"""What the brokers logged of one group, ready to be asked while the group's records are judged.

It holds nothing but the lines, which come with a run: it is the same whether an audit begins at the start of the log
or goes on from a snapshot. Only what a line says counts; that a line is missing says nothing, since a log may
cover a part of the time or one broker of several.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.reasons import (
    LEAVE,
    LoggedDeparture,
    departure_of_fact,
    trigger_of,
)
from rebalance_audit.audit.causes.cause import Evidence
from rebalance_audit.replay.changes import Position

TOLERANCE_MS: Final = 2_000
"""How far a line and its record may be apart. One clock stamps both within a few ms; busy brokers log late."""

SAME_REQUEST_MS: Final = 100
"""The lines of one request."""

TAKE_OVERS: Final = frozenset({FactKind.GROUP_LOADED, FactKind.PARTITION_LOADED})
MOVES: Final = TAKE_OVERS | {FactKind.GROUP_UNLOADED, FactKind.PARTITION_UNLOADED}
"""Lines of a coordinator that comes or goes; what was in its memory alone is gone then."""

ENDS: Final = frozenset(
    {
        FactKind.MEMBER_LEFT,
        FactKind.MEMBER_LEFT_BY_REQUEST,
        FactKind.MEMBER_EXPIRED,
        FactKind.MEMBER_FENCED,
        FactKind.MEMBERS_NOT_REJOINED,
    }
)
"""Lines that end a member."""


class Stay(NamedTuple):
    """A classic member between the last record that has it and the one that has it no more."""

    moved: bool
    """The leader epochs of the two records differ: the coordinator moved in between."""

    @classmethod
    def between(cls, last: Position, gone: Position) -> "Stay":
        """Of these two records."""
        return cls(last.leader_epoch != gone.leader_epoch)


class Witness:
    """The lines of one group."""

    def __init__(self, facts: Iterable[BrokerFact]) -> None:
        """`facts`: those of the group, and of its partition of the offsets topic, in any order."""
        self._facts = sorted(facts, key=lambda fact: fact.at_ms)
        self._times = [fact.at_ms for fact in self._facts]
        self._by_epoch: defaultdict[tuple[FactKind, int], list[BrokerFact]] = defaultdict(list)
        self._by_kind: defaultdict[FactKind, list[BrokerFact]] = defaultdict(list)
        self._by_member: defaultdict[str, list[BrokerFact]] = defaultdict(list)
        self._by_instance: defaultdict[str, list[BrokerFact]] = defaultdict(list)
        for fact in self._facts:
            self._by_kind[fact.kind].append(fact)
            if fact.epoch is not None:
                self._by_epoch[fact.kind, fact.epoch].append(fact)
            for member_id in _members_of(fact):
                self._by_member[member_id].append(fact)
            if fact.instance_id is not None:
                self._by_instance[fact.instance_id].append(fact)

    def between(self, from_ms: int, to_ms: int) -> Sequence[BrokerFact]:
        """Lines from `from_ms` to `to_ms`, both included."""
        return self._facts[bisect_left(self._times, from_ms) : bisect_right(self._times, to_ms)]

    def of_kind(self, kind: FactKind) -> Sequence[BrokerFact]:
        """All lines of a kind."""
        return self._by_kind.get(kind, ())

    def of_epoch(self, kind: FactKind, epoch: int, near_ms: int) -> BrokerFact | None:
        """The line of that kind and epoch that is nearest to `near_ms`, if it is near at all."""
        found = self._by_epoch.get((kind, epoch), ())
        nearest = min(found, key=lambda fact: abs(fact.at_ms - near_ms), default=None)
        if nearest is None or abs(nearest.at_ms - near_ms) > TOLERANCE_MS:
            return None
        return nearest

    def last_of_epoch(self, kind: FactKind, epoch: int, before_ms: int) -> BrokerFact | None:
        """The last line of that kind and epoch that is not later than `before_ms`."""
        found = self._by_epoch.get((kind, epoch), ())
        return next((fact for fact in reversed(found) if fact.at_ms <= before_ms), None)

    def of_member(
        self, kind: FactKind, member_id: str, from_ms: int, to_ms: int
    ) -> BrokerFact | None:
        """The last line of that kind about a member."""
        return next(
            (
                fact
                for fact in reversed(self._by_member.get(member_id, ()))
                if fact.kind is kind and from_ms <= fact.at_ms <= to_ms
            ),
            None,
        )

    def replacement(
        self, instance_id: str, member_id: str, from_ms: int, to_ms: int
    ) -> BrokerFact | None:
        """The last line that says of an instance id that another member id took it over."""
        for fact in reversed(self._by_instance.get(instance_id, ())):
            told = fact.kind is FactKind.STATIC_MEMBER_REPLACED and from_ms <= fact.at_ms <= to_ms
            if told and (fact.member_id in {None, member_id} or fact.old_member_id == member_id):
                return fact
        return None

    def departure(
        self,
        member_id: str,
        instance_id: str | None,
        from_ms: int,
        to_ms: int,
        *,
        near_ms: int | None = None,
        was_away: bool = False,
        stay: Stay | None = None,
    ) -> LoggedDeparture | None:
        """Why a member went between two moments.

        Of several lines the one nearest to `near_ms` counts, the last one where no moment is known. `was_away`: by its
        records a static member had left for a while. `stay`: of a classic member, which is out in its coordinator's
        memory long before a record shows it, and back with the next coordinator if that comes first.
        """
        if near_ms is None:
            near_ms = to_ms
        told = [
            *self._by_member.get(member_id, ()),
            *(
                fact
                for fact in self._by_instance.get(instance_id or "", ())
                if fact.member_id is None
            ),
        ]
        ends = [
            fact
            for fact in told
            if from_ms <= fact.at_ms <= to_ms
            and _ends(fact)
            and (stay is None or self._lasted(fact, stay, from_ms, near_ms))
        ]
        # What took the member out was logged first; the reason of the rebalance that follows may say less.
        for fact in sorted(
            ends, key=lambda each: (each.kind not in ENDS, abs(each.at_ms - near_ms))
        ):
            found = departure_of_fact(
                fact,
                by_another=self._by_another(fact),
                was_away=was_away,
                is_static=instance_id is not None or fact.instance_id is not None,
            )
            if found is not None:
                return found
        return None

    def _lasted(self, end: BrokerFact, stay: Stay, from_ms: int, to_ms: int) -> bool:
        """Whether the coordinator that took a member out was still the one that wrote the record without it."""
        if any(fact.kind in MOVES for fact in self.between(end.at_ms + 1, to_ms)):
            return False
        return not stay.moved or any(
            fact.kind in TAKE_OVERS and fact.broker == end.broker
            for fact in self.between(from_ms, end.at_ms)
        )

    def was_away_before(self, member_id: str, before_ms: int) -> bool:
        """Whether a static member left for a while at some time; that it came back under its id is not logged."""
        told = self._by_member.get(member_id, ())
        return any(fact.kind is FactKind.MEMBER_AWAY and fact.at_ms <= before_ms for fact in told)

    def left_by(self, prepared: BrokerFact) -> BrokerFact | None:
        """The line on the member whose LeaveGroup set a rebalance off, where that does not name it."""
        return next(
            (
                fact
                for fact in self.between(prepared.at_ms - SAME_REQUEST_MS, prepared.at_ms)
                if fact.kind is FactKind.MEMBER_LEFT_BY_REQUEST and fact.broker == prepared.broker
            ),
            None,
        )

    def _by_another(self, fact: BrokerFact) -> bool:
        """Whether a LeaveGroup came from somebody else: it took out several, or named its member by instance id alone.

        The reason of the rebalance that begins by it lists the member ids of the request.
        """
        if fact.kind is not FactKind.MEMBER_LEFT_BY_REQUEST:
            return False
        for other in self.between(fact.at_ms, fact.at_ms + SAME_REQUEST_MS):
            if other.kind is FactKind.REBALANCE_PREPARED:
                trigger = trigger_of(other.text or "")
                named = trigger.members if trigger is not None and trigger.role == LEAVE else ()
                return "" in named or (len(named) > 1 and fact.member_id in named)
        return False


def said(fact: BrokerFact, position: Position, sentence: str) -> Evidence:
    """The line as evidence, with the record that it speaks of; its time is the line's."""
    return Evidence(
        position.log_partition,
        position.log_offset,
        fact.at_ms,
        f"broker {fact.broker} logged ({fact.place}): {sentence}",
    )


def sentence_of(fact: BrokerFact) -> str:
    """What the line says, in short."""
    name = fact.kind.value.replace("_", " ")
    about = " ".join(
        part
        for part in (
            fact.member_id or "",
            f"(instance {fact.instance_id})" if fact.instance_id else "",
            f"epoch {fact.epoch}" if fact.epoch is not None else "",
        )
        if part
    )
    return ": ".join(part for part in (f"{name} {about}".strip(), fact.text or "") if part)


def _ends(fact: BrokerFact) -> bool:
    return fact.kind in ENDS or fact.kind is FactKind.REBALANCE_PREPARED


def _members_of(fact: BrokerFact) -> Iterable[str]:
    if fact.kind is FactKind.REBALANCE_PREPARED:
        trigger = trigger_of(fact.text or "")
        if trigger is not None and trigger.role in {"leave", "expiry", "not synced"}:
            return filter(None, trigger.members)
        return ()
    return fact.members or ((fact.member_id,) if fact.member_id else ())
