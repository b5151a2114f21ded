"""What the brokers logged about one group, for queries while the group's records are judged.

It holds only the lines, which every run gets anew, so it is the same whether an audit begins at the start of the log or
continues from a snapshot. Only what a line says counts. A missing line says nothing, since a log may cover only part of
the time or one of several brokers.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.reasons import (
    EXPIRY,
    LEAVE,
    NOT_SYNCED,
    LoggedDeparture,
    departure_of_fact,
    trigger_of,
)
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.replay.changes import Position
from rebalance_audit.sentences.of_evidence import LOGGED
from rebalance_audit.sentences.reason import CodedReason, because

TOLERANCE_MS: Final = 2_000
"""How far a line and its record may be apart (ms). One clock stamps both within a few ms; busy brokers log late."""

SAME_REQUEST_MS: Final = 100
"""Largest distance (ms) between the lines of one request."""

TAKE_OVERS: Final = frozenset({FactKind.GROUP_LOADED, FactKind.PARTITION_LOADED})
MOVES: Final = TAKE_OVERS | {FactKind.GROUP_UNLOADED, FactKind.PARTITION_UNLOADED}
"""Lines about a coordinator that comes or goes; what only its memory held is lost then."""

GOING: Final = frozenset({LEAVE, EXPIRY, NOT_SYNCED})
"""Roles of members that a rebalance's line names as gone."""
ENDS: Final = frozenset(
    {
        FactKind.MEMBER_LEFT,
        FactKind.MEMBER_LEFT_BY_REQUEST,
        FactKind.MEMBER_EXPIRED,
        FactKind.MEMBER_FENCED,
        FactKind.MEMBERS_NOT_REJOINED,
    }
)
"""Kinds of lines about the end of a member."""


class Witness:
    """The lines of one group, by kind and time. All times are epoch ms."""

    def __init__(self, facts: Iterable[BrokerFact]) -> None:
        """`facts`: the lines of the group and of its partition of the offsets topic, in any order."""
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
            for member_id in members_of(fact):
                self._by_member[member_id].append(fact)
            if fact.instance_id is not None:
                self._by_instance[fact.instance_id].append(fact)

    def between(self, from_ms: int, to_ms: int) -> Sequence[BrokerFact]:
        """Lines from `from_ms` to `to_ms`, both included."""
        return self._facts[bisect_left(self._times, from_ms) : bisect_right(self._times, to_ms)]

    def since(self, from_ms: int) -> Sequence[BrokerFact]:
        """Lines from `from_ms` on."""
        return self._facts[bisect_left(self._times, from_ms) :]

    def of_kind(self, kind: FactKind) -> Sequence[BrokerFact]:
        """All lines of one kind."""
        return self._by_kind.get(kind, ())

    def of_epoch(self, kind: FactKind, epoch: int, near_ms: int) -> BrokerFact | None:
        """The line of that kind and epoch that is nearest to `near_ms`, if any is within the tolerance."""
        found = self._by_epoch.get((kind, epoch), ())
        nearest = min(found, key=lambda fact: abs(fact.at_ms - near_ms), default=None)
        if nearest is None or abs(nearest.at_ms - near_ms) > TOLERANCE_MS:
            return None
        return nearest

    def last_of_epoch(self, kind: FactKind, epoch: int, before_ms: int) -> BrokerFact | None:
        """The last line of that kind and epoch at or before `before_ms`."""
        found = self._by_epoch.get((kind, epoch), ())
        return next((fact for fact in reversed(found) if fact.at_ms <= before_ms), None)

    def of_member(
        self, kind: FactKind, member_id: str, from_ms: int, to_ms: int
    ) -> BrokerFact | None:
        """The last line of that kind about the member between the two times."""
        for fact in reversed(self._by_member.get(member_id, ())):
            if fact.kind is kind and from_ms <= fact.at_ms <= to_ms:
                return fact
        return None

    def replacement(
        self, instance_id: str, member_id: str, from_ms: int, to_ms: int
    ) -> BrokerFact | None:
        """The last line which says that another member id took over the instance id."""
        for fact in reversed(self._by_instance.get(instance_id, ())):
            known = fact.kind is FactKind.STATIC_MEMBER_REPLACED and from_ms <= fact.at_ms <= to_ms
            if known and (fact.member_id in {None, member_id} or fact.old_member_id == member_id):
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
        stay: tuple[Position, Position] | None = None,
    ) -> LoggedDeparture | None:
        """Why a member went between two moments; None if no line says.

        Of several lines the one nearest to `near_ms` counts, or the last one without `near_ms`. `was_away`: by its
        records the static member had left temporarily. `stay` is for a classic member: the last record that lists
        it, and the first one that does not. Its coordinator removes it in memory long before that record, and a new
        coordinator that loads the group before then has it again.
        """
        if near_ms is None:
            near_ms = to_ms
        known = [
            *self._by_member.get(member_id, ()),
            *(
                fact
                for fact in self._by_instance.get(instance_id or "", ())
                if fact.member_id is None
            ),
        ]
        ends = [
            fact
            for fact in known
            if from_ms <= fact.at_ms <= to_ms
            and (fact.kind in ENDS or fact.kind is FactKind.REBALANCE_PREPARED)
            and (stay is None or self._lasted(fact, *stay, from_ms, near_ms))
        ]
        # The removal itself was logged first; the reason of the rebalance that follows may say less.
        ends.sort(
            key=lambda each: (each.kind not in ENDS, each.may_be_text, abs(each.at_ms - near_ms))
        )
        found = (
            departure_of_fact(
                fact,
                by_another=self._by_another(fact),
                was_away=was_away,
                is_static=instance_id is not None or fact.instance_id is not None,
            )
            for fact in ends
        )
        return _agreed([each for each in found if each is not None])

    def _lasted(
        self, end: BrokerFact, last: Position, gone: Position, from_ms: int, to_ms: int
    ) -> bool:
        """Whether the coordinator that removed the member also wrote the record without it."""
        if any(fact.kind in MOVES for fact in self.between(end.at_ms + 1, to_ms)):
            return False
        return last.leader_epoch == gone.leader_epoch or any(
            fact.kind in TAKE_OVERS and fact.broker == end.broker
            for fact in self.between(from_ms, end.at_ms)
        )

    def was_away_before(self, member_id: str, before_ms: int) -> bool:
        """Whether a static member has ever left temporarily; its return under the same id is not logged."""
        known = self._by_member.get(member_id, ())
        return any(fact.kind is FactKind.MEMBER_AWAY and fact.at_ms <= before_ms for fact in known)

    def left_by(self, prepared: BrokerFact) -> BrokerFact | None:
        """The line about the member whose LeaveGroup set off a rebalance, if the rebalance's line does not name it."""
        for fact in self.between(prepared.at_ms - SAME_REQUEST_MS, prepared.at_ms):
            if fact.kind is FactKind.MEMBER_LEFT_BY_REQUEST and fact.broker == prepared.broker:
                return fact
        return None

    def _by_another(self, fact: BrokerFact) -> bool:
        """Whether an administrator sent a LeaveGroup: it removed several members, or named one by instance id alone.

        The reason of the rebalance that it sets off lists the member ids of the request.
        """
        if fact.kind is not FactKind.MEMBER_LEFT_BY_REQUEST:
            return False
        for other in self.between(fact.at_ms, fact.at_ms + SAME_REQUEST_MS):
            if other.kind is FactKind.REBALANCE_PREPARED:
                trigger = trigger_of(other.text or "")
                named = trigger.members if trigger is not None and trigger.role == LEAVE else ()
                return "" in named or (len(named) > 1 and fact.member_id in named)
        return False


def _agreed(found: Sequence[LoggedDeparture]) -> LoggedDeparture | None:
    """What the first of several lines says, with what others about the removal itself say instead."""
    if not found:
        return None
    first = found[0]
    others = dict.fromkeys(
        each.cause
        for each in found
        if each.fact.kind in ENDS
        and each.cause is not first.cause
        and abs(each.fact.at_ms - first.fact.at_ms) <= SAME_REQUEST_MS
    )
    return first._replace(
        alternatives=tuple(dict.fromkeys((*first.alternatives, *others))),
        may_be_text=all(each.fact.may_be_text for each in found if each.cause is first.cause),
    )


def said(fact: BrokerFact, position: Position, line: CodedReason) -> Evidence:
    """The line as evidence, at the position of the record that it is about; the time is the line's."""
    logged = because(LOGGED, broker=fact.broker, place=fact.place, line=line)
    return Evidence(position.log_partition, position.log_offset, fact.at_ms, logged)


def line_of(fact: BrokerFact) -> CodedReason:
    """What the line says, in short."""
    return because(
        "log_line",
        kind=fact.kind.value,
        member=fact.member_id,
        instance=fact.instance_id,
        epoch=fact.epoch,
        text=fact.text,
    )


def members_of(fact: BrokerFact) -> Iterable[str]:
    """Ids of the members that the line is about; of the reason of a rebalance only those that are gone."""
    if fact.kind is FactKind.REBALANCE_PREPARED:
        trigger = trigger_of(fact.text or "")
        if trigger is not None and trigger.role in GOING:
            return filter(None, trigger.members)
        return ()
    return fact.members or ((fact.member_id,) if fact.member_id else ())
