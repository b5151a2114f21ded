"""A group's state, type, members and life at the end of the log, or at a time before it, and for whom it waits then.

Everything that shows a group's present asks here: the overview, the detail of a group, `explain`, the page, `watch`.
`audit/group/present.py` decides it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rebalance_audit.replay.describe import UNKNOWN
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import MemberId, MomentUtc, Name, Sentence, Stored

GONE: Final = "Empty or gone"
"""State of a group whose own record was removed: while it has committed offsets, Kafka lists it as Empty."""
_NAMED: Final = 3
"""Members and partitions in one sentence."""

_AWAITED: Final[Mapping[str, str]] = {
    "kept_partitions": "was asked to revoke partitions and has not",
    "late": "has not reached epoch {epoch}",
}
"""Code -> what is said of one member for whom the group waits."""

_BY_COORDINATOR: Final[Mapping[str, str]] = {
    "PreparingRebalance": "members to join",
    "CompletingRebalance": "the leader's assignment",
}
"""State of a classic group that rebalances, as its coordinator says -> what it waits for."""

_STOPPED: Final[Mapping[str | None, str]] = {
    None: (
        "possibly {it} {hangs} or {is_} gone, or the group is rebalancing. Whether it is rebalancing now is not in the"
        " log: a classic group writes nothing until its join phase ends"
    ),
    "Stable": "possibly {it} {hangs} or {is_} gone. The group is not rebalancing: its coordinator says Stable",
    "PreparingRebalance": "the group may wait for {them} (possible), unless {it} {has} rejoined",
}
"""State of the group, None where it is unknown -> what it may mean that members have stopped committing."""

_ONE: Final = {"it": "it", "them": "it", "hangs": "hangs", "is_": "is", "has": "has"}
_SEVERAL: Final = {"it": "they", "them": "them", "hangs": "hang", "is_": "are", "has": "have"}


class Present(NamedTuple):
    """A group at the end of the log."""

    protocol: str
    group_state: str
    members: int | None
    """None while the state is unknown."""
    incarnation: int
    """0 for the first life of the group id."""
    since_ms: int | None
    epoch: int | None
    """Epoch or generation; None where the tables are those of an earlier release."""
    awaited: Sequence[Mapping[str, Any]] = ()
    """For whom it waits: `awaited` of gold.group_states."""
    awaited_members: int = 0
    partitions: int | None = None
    """Partitions that its members have."""
    unconsumed: int = 0
    some_unconsumed: Sequence[str] = ()
    """Partitions without a consumer, as `orders-6`."""
    stopped: Sequence[Mapping[str, Any]] = ()
    """Classic: members that have stopped committing: `stopped` of gold.group_states."""
    silent_since_ms: int | None = None
    """Classic: when any member committed last (epoch ms), if all have stopped committing."""
    join_phase_since_ms: int | None = None
    """Classic: when a join phase began (epoch ms) that goes on by the coordinator's log."""
    join_phase_reason: str | None = None
    joined_at_ms: int | None = None
    """When it ended (epoch ms), if the leader's assignment has been awaited since."""
    removed: Sequence[Mapping[str, Any]] = ()
    """Whom it had waited for: `join_phase_removed` of gold.group_states."""
    is_stuck: bool = False
    """Whether it waits for somebody, or has members without any partition."""
    coordinator_state: str | None = None
    """Classic: its state as the coordinator of a live cluster says; None where that is unknown."""

    @property
    def is_rebalancing(self) -> bool:
        """Whether its coordinator says so."""
        return self.coordinator_state in _BY_COORDINATOR

    @property
    def waits_since_ms(self) -> int | None:
        """Since when it has waited for a member (epoch ms), possibly if its coordinator alone says that it waits."""
        since = [row["since"] for row in self.awaited]
        if self.is_rebalancing:
            since += [row["last_commit_at"] for row in self.stopped]
        return min(since, default=None)

    def text(self) -> str:
        """`Stable with 3 members`, `Empty`, `Unknown (its last record cannot be decoded)`."""
        if self.group_state == UNKNOWN:
            return f"{UNKNOWN} (its last record cannot be decoded)"
        if not self.members:
            return self.group_state
        return f"{self.group_state} with {words.counted(self.members, 'member')}"

    def cell(self) -> str:
        """`Stable (3)`, `Empty`."""
        return f"{self.group_state} ({self.members:,})" if self.members else self.group_state


def present_of(states: Iterable[Mapping[str, Any]]) -> Present | None:
    """The present of one group from its rows of gold.group_states; None where its record was removed."""
    current = [row for row in states if row.get("to_offset") is None and row["to_at"] is None]
    if not current:
        return None
    row = max(current, key=lambda row: (row["incarnation"], row["from_at"] or 0))
    said = row.get("coordinator_state") if row["protocol"] == "classic" else None
    is_rebalancing = said in _BY_COORDINATOR
    return Present(
        row["protocol"],
        said if said and is_rebalancing else row["group_state"],
        row.get("members_at_end"),
        row["incarnation"],
        row["from_at"],
        row.get("epoch_at_end"),
        row.get("awaited") or (),
        row.get("awaited_members") or 0,
        row.get("partitions_at_end"),
        row.get("unconsumed") or 0,
        row.get("some_unconsumed") or (),
        row.get("stopped") or (),
        row.get("silent_since"),
        row.get("join_phase_since"),
        row.get("join_phase_reason"),
        row.get("join_phase_joined_at"),
        row.get("join_phase_removed") or (),
        bool(row.get("is_stuck")) or is_rebalancing,
        said,
    )


def group_text(present: Present | None) -> str:
    """The group in words, even one that is gone."""
    return GONE if present is None else present.text()


def cell_of(present: Present | None) -> str:
    """The group in the words of a table's cell."""
    return GONE if present is None else present.cell()


def waits(
    present: Present, who: str, rebalancing: Mapping[str, Any] | None, end_ms: int | None
) -> Iterator[Sentence]:
    """For whom a group waits, since when, and what has no consumer meanwhile; nothing where all have arrived.

    `who`: the group, as the sentence begins; `rebalancing`: the row of a rebalance that goes on; `end_ms`: when the log
    ends (epoch ms), None where that is not known.
    """
    lead = Sentence((who, f" is {present.group_state}"))
    since_ms = present.join_phase_since_ms
    if rebalancing is not None:
        since_ms = rebalancing["started_at"]
    if rebalancing is not None or since_ms is not None:
        lead = Sentence((who, " has been rebalancing ", lasting(since_ms, end_ms)))
    if present.join_phase_since_ms is not None:
        yield from _join_phase(present, lead, present.join_phase_since_ms, end_ms)
        return
    if present.awaited:
        clauses = list(_clauses(present, end_ms))
        yield Sentence((lead, ": ", clauses[0], "."))
        yield from (Sentence(("Also, ", clause, ".")) for clause in clauses[1:])
    elif rebalancing is not None:
        yield Sentence((lead, "; the log does not show for whom it waits."))
    if present.unconsumed:
        which = _examples(present.some_unconsumed, present.unconsumed)
        yield Sentence(("Without a consumer meanwhile: ", which, "."))
    elif (
        rebalancing is None
        and present.members
        and present.partitions == 0
        and present.protocol != "classic"
    ):
        of = (
            "its only member"
            if present.members == 1
            else f"none of its {present.members:,} members"
        )
        has = "has no partition" if present.members == 1 else "has a partition"
        yield Sentence(
            (lead, f", but {of} {has}: the assignment of epoch {present.epoch} is empty.")
        )
    if present.is_rebalancing:
        said = present.coordinator_state
        waits_for = _BY_COORDINATOR[said or ""]
        yield Sentence(
            (who, f" is rebalancing: its coordinator says {said}, so it waits for {waits_for}.")
        )
    if present.stopped and present.coordinator_state != "CompletingRebalance":
        yield _stopped(present, end_ms)


def _join_phase(
    present: Present, lead: Sentence, since_ms: int, end_ms: int | None
) -> Iterator[Sentence]:
    """A join phase that the coordinator logged; it logs no member that has rejoined, only those it removed."""
    if present.joined_at_ms is not None:
        joined = _ago(present.joined_at_ms, end_ms)
        lead = Sentence(
            (lead, ": its members joined ", joined, ", the leader's assignment is missing")
        )
    elif present.removed:
        removed = [
            Sentence((_who(row), ", removed ", _ago(row["at"], end_ms)))
            for row in present.removed[:_NAMED]
        ]
        lead = Sentence((lead, ": it waited for ", Sentence.joined("; ", removed)))
    yield Sentence(
        (lead, ". The coordinator logged: ", Stored(present.join_phase_reason or "–"), ".")
    )
    gone = {row["member_id"] for row in present.removed}
    silent = [
        row
        for row in present.stopped
        if row["member_id"] not in gone and row["last_commit_at"] + row["interval_ms"] < since_ms
    ]
    if silent and present.joined_at_ms is None:
        last = _ago(silent[0]["last_commit_at"], end_ms)
        whom, first = ("it", "") if len(silent) == 1 else ("them", "the first ")
        before = (_several(silent, len(silent)), f" had stopped committing before, {first}", last)
        yield Sentence((*before, f": the join phase may wait for {whom} (possible)."))


def _stopped(present: Present, end_ms: int | None) -> Sentence:
    """Who has stopped committing in a classic group, which writes nothing while it rebalances."""
    count, first = len(present.stopped), present.stopped[0]
    since = _ago(first["last_commit_at"], end_ms)
    said = Sentence(
        (" last committed ", since, f", every {words.duration(first['interval_ms'])} before")
    )
    if count > 1:
        said = Sentence((" have stopped committing, the first ", since))
    means = _STOPPED.get(present.coordinator_state, _STOPPED[None])
    means = means.format(**_ONE if count == 1 else _SEVERAL)
    return Sentence((_several(present.stopped, count), said, f": {means}."))


def _several(rows: Sequence[Mapping[str, Any]], count: int) -> Sentence:
    """The names of the first few, and how many more there are."""
    names = [_who(row) for row in rows[:_NAMED]]
    if count > _NAMED:
        names.append(f"{count - _NAMED:,} more")
    return listed(names)


def lasting(since_ms: int | None, end_ms: int | None) -> Sentence:
    """`for 15.0 s`, up to the end of the log; `since …` where that is not known."""
    if since_ms is None:
        return Sentence.plain("since before the log begins")
    if end_ms is None or end_ms < since_ms:
        return Sentence(("since ", MomentUtc(since_ms)))
    return Sentence.plain(f"for {words.duration(end_ms - since_ms)}")


def _clauses(present: Present, end_ms: int | None) -> Iterator[Sentence]:
    kept = [row for row in present.awaited if row["waiting"]]
    for row in kept[:_NAMED]:
        partitions = _examples(row["some_partitions"], row["partitions"])
        which = (_waiting(row, present), " for ", _who(row), " (", partitions, "), which ")
        yield Sentence((*which, _doing(row, present, end_ms)))
    if len(kept) > _NAMED:
        yield Sentence.plain(
            f"others wait for {words.counted(present.awaited_members - _NAMED, 'more member')}"
        )
    if kept:
        return
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for row in present.awaited:
        alike.setdefault(row["why"] if row["why"] != "had_left" else row["member_id"], []).append(
            row
        )
    for rows in list(alike.values())[:_NAMED]:
        if len(rows) == 1:
            yield Sentence((_who(rows[0]), " ", _doing(rows[0], present, end_ms)))
            continue
        # Only so many rows as are kept name members.
        count = present.awaited_members if len(alike) == 1 else len(rows)
        of = (
            f"none of its {count:,} members has"
            if count == present.members
            else f"{count:,} of its {present.members or 0:,} members have not"
        )
        yield Sentence((of, f" reached epoch {present.epoch}: ", _several(rows, count)))


def listed(parts: Sequence[str]) -> Sentence:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return Sentence(parts)
    return Sentence((Sentence.joined(", ", parts[:-1]), " and ", parts[-1]))


def _who(row: Mapping[str, Any]) -> str:
    return MemberId(row["member_id"])


def _waiting(row: Mapping[str, Any], present: Present) -> Sentence:
    """`pod-2 waits`, `pod-2 and pod-3 wait`, `the other 4 members wait`."""
    count, others = row["waiting"], (present.members or 0) - 1
    if count == others:
        return Sentence.plain(
            "the other member waits" if count == 1 else f"all {count:,} others wait"
        )
    if count <= 2:
        named = listed([MemberId(each) for each in row["some_waiting"]])
        return Sentence((named, " waits" if count == 1 else " wait"))
    return Sentence.plain(f"{count:,} members wait")


def _examples(partitions: Sequence[str], count: int) -> Sentence:
    """`orders 6`, `orders 6, 7 and 2 more`: by topic."""
    by_topic: dict[str, list[str]] = {}
    for partition in partitions[:_NAMED]:
        topic, _, number = partition.rpartition("-")
        by_topic.setdefault(topic, []).append(number)
    parts = [
        Sentence((Name(topic), " ", ", ".join(numbers))) for topic, numbers in by_topic.items()
    ]
    more = count - min(_NAMED, len(partitions))
    named = Sentence.joined("; ", parts)
    return Sentence((named, f" and {more:,} more")) if more else named


def _doing(row: Mapping[str, Any], present: Present, end_ms: int | None) -> Sentence:
    """What it has not done, and when it was last heard of."""
    unsure = "; records that would show more are missing" * (row["certainty"] == "possible")
    if row["why"] == "had_left":
        return Sentence(("left temporarily ", _ago(row["last_record_at"], end_ms), unsure))
    has_committed = row["last_commit_at"] is not None
    last = _ago(row["last_commit_at" if has_committed else "last_record_at"], end_ms)
    sign = "commit" if has_committed else "record"
    what = _AWAITED[row["why"]].format(epoch=present.epoch)
    return Sentence((what, f"; its last {sign} was ", last, unsure))


def _ago(at_ms: int, end_ms: int | None) -> Sentence:
    if end_ms is None or end_ms < at_ms:
        return Sentence(("at ", MomentUtc(at_ms)))
    return Sentence.plain(f"{words.duration(end_ms - at_ms)} ago")
