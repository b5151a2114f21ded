"""Holds a log of consumer groups against `spec/consumer.qnt`: each write must be a step that the specification allows.

A log does not say which request made a write. So requests are guessed from the records, and the specification judges
each guess: is that request possible in its own state, and does it leave what the log shows? Replay reads the log;
everything that a group may do comes from the specification's definition `isAccepted`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import groupby, product
from typing import Any, Final

from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.replay.groups import ModernGroup, ModernMember
from rebalance_audit.replay.partitions import Partitions, each
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire.generated.messages import ConsumerGroupMetadataValue, RecordType
from rebalance_audit.wire.records import Record, group_id_of
from tests.spec.engine import NONE, Fields, Judge, Variant, itf, some
from tests.spec.metadata_log import TopicHistory, Topics

LATE_MS: Final = 60_000
"""How much later than the metadata log a coordinator, or a heartbeat, may notice a change of topics."""
EARLY_MS: Final = 10_000
"""How much earlier, by a clock that is behind: those of controller and coordinator may each be 5 s off."""
WITH_EPOCHS: Final = {"4.3", "4.4"}
FIRST_EPOCHS: Final = {"4.3": 1, "4.4": 1}
EARLY_ACCESS: Final = "3.7"
"""Its members reconcile in another way, which no text describes; the specification leaves it out."""
WITHOUT_HASH: Final = {"3.9", "4.0"}
"""Releases that keep the topics in a record of their own."""
CONSUMER_TYPES: Final = frozenset(
    {
        RecordType.CONSUMER_GROUP_METADATA,
        RecordType.CONSUMER_GROUP_MEMBER_METADATA,
        RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
        RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
        RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION,
        RecordType.CONSUMER_GROUP_PARTITION_METADATA,
    }
)

Logged = tuple[Record, Position]


@dataclass(slots=True)
class Verdict:
    """What became of a log's writes."""

    accepted: Counter[str] = field(default_factory=Counter)
    """By event."""
    outside: Counter[str] = field(default_factory=Counter)
    """Writes that the specification does not speak of, by reason."""
    refused: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Life:
    """One group as the specification has it."""

    group: Any = None
    """In ITF; None until its first step."""
    topics: Topics = field(default_factory=dict)
    release: str = ""


class LogJudge:
    """Follows the consumer groups of one log partition."""

    def __init__(
        self,
        judge: Judge,
        history: TopicHistory,
        releases: Sequence[str],
        default_assignor: str,
        verdict: Verdict,
    ) -> None:
        """`releases`: those that wrote the log, in that order. `default_assignor`: of groups that prefer none."""
        self._judge = judge
        self._history = history
        self._releases = releases
        self._default_assignor = default_assignor
        self._verdict = verdict
        self._shard = Shard(0)
        self._lives: dict[str, _Life] = {}
        self._numbers: dict[bytes, int] = {}

    def follow(self, log: Iterable[Logged]) -> None:
        """Judge every write of a consumer group; all others are replayed only."""
        for _, entries in groupby(log, _write_key):
            self._write(list(entries))

    def _write(self, write: Sequence[Logged]) -> None:
        group_id = group_id_of(write[0][0].key)
        life = self._lives.setdefault(group_id, _Life())
        before = _copy(self._group(group_id))
        states = []
        for record, position in write:
            self._shard.apply(record, position)
            states.append(_copy(self._group(group_id)))
        types = {record.record_type for record, _ in write}
        if types == {RecordType.OFFSET_COMMIT} or (before is None and states[-1] is None):
            return
        if EARLY_ACCESS in self._releases:
            self._verdict.outside["early access"] += 1
            return
        if not types <= CONSUMER_TYPES or states[-1] is None:
            # A conversion between the protocols, or the deletion of the group.
            kind = "deletion" if types <= CONSUMER_TYPES else "conversion"
            self._verdict.outside[kind] += 1
            self._adopt(life, states[-1], write[-1][1].record_timestamp_ms)
            return
        if not self._explain(life, before, write, states):
            last = states[-1]
            self._verdict.refused.append(
                f"{group_id} at offset {write[0][1].log_offset}: "
                f"{[int(record.record_type) * (1 if record.value is not None else -1) for record, _ in write]}, "
                f"epoch {last.group_epoch}, before {life.group}"
            )
            self._adopt(life, last, write[-1][1].record_timestamp_ms)

    def _group(self, group_id: str) -> ModernGroup | None:
        slot = self._shard.slot(group_id)
        group = None if slot is None else slot.group
        if isinstance(group, ModernGroup) and group.group_type is GroupType.CONSUMER:
            return group
        return None

    def _explain(
        self,
        life: _Life,
        before: ModernGroup | None,
        write: Sequence[Logged],
        states: Sequence[ModernGroup | None],
    ) -> bool:
        """Whether the records are one step, or several in a row (two requests within a millisecond)."""
        for size in range(len(write), 0, -1):
            after = states[size - 1]
            assert after is not None
            kept = (life.group, life.topics, life.release)
            if self._step(life, before, [record for record, _ in write[:size]], after, write):
                if size == len(write) or self._explain(life, after, write[size:], states[size:]):
                    return True
                life.group, life.topics, life.release = kept
        return False

    def _step(
        self,
        life: _Life,
        before: ModernGroup | None,
        records: Sequence[Record],
        after: ModernGroup,
        write: Sequence[Logged],
    ) -> bool:
        time_ms = write[0][1].record_timestamp_ms
        releases = self._releases[self._releases.index(life.release) if life.release else 0 :]
        if any(_has_hash(record) for record in records):
            releases = [each for each in releases if each not in WITHOUT_HASH]
        for release in releases:
            known = life.group
            if known is None:
                (known,) = self._judge.ask({"release": release}, ["emptyGroup(rules)"])
            elif release != life.release and life.release:
                known = self._upgraded(known, before, life.release, release)
            shown = self._itf(None, after, release)
            for topics in self._history.about(time_ms, LATE_MS, EARLY_MS):
                for event in guesses(before, records, after, release, self._default_assignor):
                    answer = self._judge.ask(
                        {
                            "release": release,
                            "image": itf(self._image(topics)),
                            "group": known,
                            "before": shown,
                            "event": itf(self._numbered(event)),
                        },
                        ["isAccepted", "observed"],
                    )
                    has_hash = release not in WITHOUT_HASH or any(_is(each, 4) for each in records)
                    if answer[0] and (
                        has_hash or answer[1]["group"]["metadata"] == known["metadata"]
                    ):
                        life.group, life.topics, life.release = answer[1]["group"], topics, release
                        self._verdict.accepted[event.tag] += 1
                        return True
        return False

    def _adopt(self, life: _Life, group: ModernGroup | None, time_ms: int) -> None:
        """Go on from what the log shows."""
        if group is None:
            life.group, life.release = None, ""
            return
        life.release = life.release or self._releases[0]
        topics = self._history.about(time_ms, 0, 0)[0]
        life.group = self._itf(topics, group, life.release)

    # --- values of the specification ---------------------------------------------------------------

    def _number(self, topic: bytes | str) -> int:
        assert isinstance(topic, bytes)
        return self._numbers.setdefault(topic, len(self._numbers))

    def _image(self, topics: Topics) -> Mapping[str, Fields]:
        return {
            name: Fields(id=self._number(topic.topic_id), count=topic.partition_count, racks=0)
            for name, topic in topics.items()
        }

    def _itf(self, topics: Topics | None, group: ModernGroup, release: str) -> Any:
        """A group as a log shows it, in the specification's words."""
        first = FIRST_EPOCHS.get(release, 0)
        names = frozenset(
            name for member in group.members.values() for name in subscription(group, member)
        )
        return itf(
            Fields(
                exists=True,
                epoch=group.group_epoch if group.has_epoch_record else first,
                assignmentEpoch=group.assignment_epoch if group.has_assignment_record else first,
                timed=group.assignment_timestamp_ms != 0,
                metadata={
                    name: each for name, each in self._image(topics or {}).items() if name in names
                },
                members={
                    member_id: self._member(group, member, release)
                    for member_id, member in group.members.items()
                },
                target={
                    member_id: self._pairs(group.target_of(member_id))
                    for member_id in group.members
                    if member_id in group.targets
                },
                revoking={},
            )
        )

    def _member(self, group: ModernGroup, member: ModernMember, release: str) -> Fields:
        def held(partitions: Partitions) -> Mapping[tuple[int, int], int]:
            return {
                (self._number(topic), number): member.assignment_epoch_of(topic, number)
                if release in WITH_EPOCHS
                else 0
                for topic, number in each(partitions)
            }

        return Fields(
            instance=member.instance_id or "",
            topics=subscription(group, member),
            epoch=member.member_epoch,
            previous=member.previous_member_epoch,
            state=member.member_state,
            classic=member.classic is not None,
            assigned=held(member.assigned),
            pending=held(member.pending_revocation),
        )

    def _pairs(self, partitions: Partitions) -> frozenset[tuple[int, int]]:
        return frozenset((self._number(topic), number) for topic, number in each(partitions))

    def _numbered(self, event: Variant) -> Variant:
        """The guess with topics as numbers."""
        if event.tag != "Heartbeat":
            return event
        fields = Fields(event.value)
        fields["target"] = {
            member_id: self._pairs(share) for member_id, share in fields["target"].items()
        }
        request = Fields(fields["request"])
        owned = request["owned"]
        request["owned"] = NONE if owned is None else some(self._pairs(owned))
        fields["request"] = request
        return Variant("Heartbeat", fields)

    def _upgraded(
        self, known: Any, before: ModernGroup | None, old_release: str, release: str
    ) -> Any:
        """The group after a broker of another release loaded it: it reads the epochs of partitions in its own way.

        The hash that 4.1 compares is in no record of 4.0, so its first comparison finds a difference.
        """
        if before is None:
            return known
        members = self._itf(None, before, release)["members"]
        if (old_release in WITHOUT_HASH) == (release in WITHOUT_HASH):
            return {**known, "members": members}
        return {**known, "members": members, "metadata": itf({})}


def guesses(
    before: ModernGroup | None,
    records: Sequence[Record],
    after: ModernGroup,
    release: str,
    default_assignor: str,
) -> Iterator[Variant]:
    """Steps that may have made these records."""
    removed = [_member_id(each) for each in records if _is(each, 5) and each.value is None]
    described = [_member_id(each) for each in records if _is(each, 5) and each.value is not None]
    current = [_member_id(each) for each in records if _is(each, 8) and each.value is not None]
    known = before.members if before is not None else {}
    if not described and not current and removed:
        yield Variant("Removed", frozenset(removed))
        return
    if current and after.members[current[-1]].member_epoch == -2:
        member = after.members[current[-1]]
        yield Variant("Leave", _request(member.member_id, member.instance_id, -2, NONE, None))
        return
    if not described and not current and any(_is(each, 16) for each in records):
        topics = {
            member_id: subscription(after, member)
            for member_id, member in after.members.items()
            if member.subscribed_topic_regex
        }
        bumps = any(_is(each, 3) for each in records)
        yield Variant("Resolved", Fields(topics=topics, bumps=bumps))
        return
    senders = dict.fromkeys([*current, *described]) or dict.fromkeys(known)
    computes = any(_is(each, 6) for each in records)
    target = (
        {member_id: after.target_of(member_id) for member_id in after.members} if computes else {}
    )
    for sender in list(senders)[:1] if current or described else senders:
        member = after.members[sender]
        was = known.get(sender)
        epochs = [0] if was is None else [was.member_epoch, was.previous_member_epoch, 0]
        epochs = [epoch for epoch in epochs if epoch >= 0]  # a static member that is away has -2
        names = subscription(after, member)
        said = was or next((known[each] for each in removed if each in known), None)
        renamed = said is not None and _subscribes_by(said) != _subscribes_by(member)
        topics_sent = [some(names)] if was is None or removed else [NONE, some(names)]
        nothing: Partitions = {}
        owned = [None, member.assigned, nothing]
        if was is None or removed:
            epochs, owned = [0], [nothing]
        else:
            owned.append(was.assigned)
        preferences = frozenset({False})
        if member.server_assignor != (said.server_assignor if said else None):
            everybody = known.values(), after.members.values()
            preferences = _changes_of_assignor(*everybody, default_assignor)
        for epoch, topics, owns, unresolved, prefers in product(
            epochs, topics_sent, owned, (False, True), preferences
        ):
            if unresolved and (topics == NONE or not member.subscribed_topic_regex):
                continue
            yield Variant(
                "Heartbeat",
                Fields(
                    request=_request(
                        sender,
                        member.instance_id,
                        epoch,
                        topics,
                        owns,
                        renamed=renamed and topics != NONE,
                        unresolved=unresolved,
                        prefers=prefers,
                        classic=member.classic is not None,
                    ),
                    due=computes
                    or release not in WITH_EPOCHS
                    or after.assignment_timestamp_ms == 0,
                    target=target,
                    lost=False,
                ),
            )


def subscription(group: ModernGroup, member: ModernMember) -> frozenset[str]:
    """Names of the topics that a member gets; an expression that is not resolved stands for none."""
    resolved = group.regexes.get(member.subscribed_topic_regex, frozenset())
    return frozenset(member.subscribed_topic_names) | resolved


def _changes_of_assignor(
    before: Iterable[ModernMember], after: Iterable[ModernMember], default: str
) -> frozenset[bool]:
    """Whether most members now prefer another assignor; in a tie it may be either."""
    old, new = (_favourites(members, default) for members in (before, after))
    return frozenset(one != other for one, other in product(old, new))


def _favourites(members: Iterable[ModernMember], default: str) -> frozenset[str]:
    votes = Counter(each.server_assignor for each in members if each.server_assignor is not None)
    most = max(votes.values(), default=0)
    return frozenset(name for name, count in votes.items() if count == most) or frozenset({default})


def _subscribes_by(member: ModernMember) -> tuple[frozenset[str], str]:
    return frozenset(member.subscribed_topic_names), member.subscribed_topic_regex


def _request(
    member_id: str,
    instance_id: str | None,
    epoch: int,
    topics: Variant,
    owned: Partitions | None,
    *,
    renamed: bool = False,
    unresolved: bool = False,
    prefers: bool = False,
    classic: bool = False,
) -> Fields:
    return Fields(
        member=member_id,
        instance=instance_id or "",
        epoch=epoch,
        topics=topics,
        owned=NONE if epoch == -2 else owned,
        renamed=renamed,
        unresolved=unresolved,
        prefers=prefers,
        classic=classic,
    )


def _is(record: Record, number: int) -> bool:
    return int(record.record_type) == number


def _has_hash(record: Record) -> bool:
    """Whether only a release that keeps a hash of the topics can have written this."""
    return isinstance(record.value, ConsumerGroupMetadataValue) and record.value.metadata_hash != 0


def _member_id(record: Record) -> str:
    key: Any = record.key
    member_id: str = key.member_id
    return member_id


def _write_key(entry: Logged) -> tuple[object, ...]:
    record, position = entry
    return group_id_of(record.key), position.record_timestamp_ms, record.record_type == 1


def _copy(group: ModernGroup | None) -> ModernGroup | None:
    """The group as it is now; replay goes on with the original."""
    return None if group is None else deepcopy(group)
