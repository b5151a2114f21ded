"""Who held a rebalance up, and what caused it: one answer for the overview, the detail of a group and `explain`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.bounds import Bounds
from rebalance_audit.figures.present import lasting, present_of, waits
from rebalance_audit.figures.rows import (
    RowKey,
    TableRow,
    Tables,
    duration_of,
    epoch_key,
    epoch_noun,
    is_classic,
    is_open_join_phase,
    rebalance_key,
)
from rebalance_audit.report import causes
from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import MemberId, MomentUtc, Name, Sentence

PREDICATES: Final[Mapping[str, str]] = {
    "kept_partitions": "kept partitions that others waited for",
    "late": "has not reached the epoch",
    "did_not_rejoin": "did not rejoin, so the rebalance lasted until it was gone",
    "silent": "sent no heartbeat until its session ended",
    "had_left": "had left temporarily, and the others waited for it",
    "coordinator": "moved to another broker, which the members may have waited for",
}
"""CodedReason code -> what is said of the one that held the rebalance up."""

COORDINATOR: Final = "coordinator"

PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "kept_partitions": ("", " kept partitions"),
    "did_not_rejoin": ("", " did not rejoin"),
    "silent": ("", " was silent"),
    "had_left": ("", " had left"),
    "late": ("", " had not reached the epoch"),
    "no_assignment": ("", " had not sent the assignment"),
    "no_target": ("no target assignment", ""),
    "first_members": ("initial rebalance delay", ""),
    "coordinator": ("the coordinator moved", ""),
    "unknown": ("unknown", ""),
}
"""CodedReason code -> what is said of a part of the time, before and after the member's name."""


class HeldUp(NamedTuple):
    """One for whom the group waited."""

    member_id: str | None
    """None for the coordinator."""
    name: str
    """Instance id, else client id."""
    why: str
    """A key of `PREDICATES`."""
    ms: int | None
    """None where the log does not hold how long, and while it goes on."""
    from_ms: int | None
    to_ms: int | None
    """Since when and until when (epoch ms); None likewise."""
    certainty: str


class TimePart(NamedTuple):
    """What some of a rebalance's time went to."""

    member_id: str | None
    """None where `why` is not about one member."""
    why: str
    """A key of `PARTS`."""
    ms: int
    certainty: str


def held_up_of(rebalance: TableRow) -> list[HeldUp]:
    """Who held the rebalance up, worst first; none in tables of releases before these columns."""
    names = ("member_ids", "by", "why", "ms", "from", "to")
    count = len(rebalance.get("held_up_member_ids") or ())
    columns = [rebalance.get(f"held_up_{name}") or (None,) * count for name in names]
    # Earlier releases have the certainty of the first alone.
    sure = rebalance.get("held_up_certainties")
    sure = [rebalance.get("held_up_certainty")] * count if sure is None else sure
    return [HeldUp(*entry) for entry in zip(*columns, sure, strict=True)]


def holder_names(rebalance: TableRow, names: MemberNames) -> list[str]:
    """Who held the rebalance up, worst first, by the names for people."""
    group_id = rebalance["group_id"]
    return [
        holder.name if holder.member_id is None else names.of(group_id, holder.member_id)
        for holder in held_up_of(rebalance)
    ]


def culprit_text(name: str, waited_ms: int) -> str:
    """`pod-0 12.3 s`: for whom a group waited longest; without the time where that was before its rebalances."""
    return f"{name} {words.duration(waited_ms)}" if waited_ms else name


def time_parts_of(rebalance: TableRow) -> list[TimePart]:
    """What its time went to, most first; none while it goes on, and in tables of releases before the column."""
    return [
        TimePart(*(part[name] for name in TimePart._fields))
        for part in rebalance.get("duration_parts") or ()
    ]


HELD_UP_NAMED: Final = 2
PARTS_NAMED: Final = 4
CAUSES_NAMED: Final = 3
"""Causes of one epoch, and epochs of one rebalance, in one sentence."""
MEMBERS_NAMED: Final = 3
"""Members with the same cause."""

_SAID_BY_ANOTHER: Final = frozenset(
    {"group_created", "group_emptied", "cooperative_follow_up", "assignment_only"}
)
"""Causes that say nothing beside another one."""


class Verdicts:
    """The answers from the tables of one or many groups."""

    def __init__(self, tables: Tables, end_ms: int | None = None) -> None:
        """Takes `epochs`, `rebalance_causes`, `members`, and for what goes on `group_states` and the end of the log."""
        self._end_ms = end_ms
        self._states: dict[str, list[TableRow]] = defaultdict(list)
        for row in tables.get("group_states", ()):
            self._states[row["group_id"]].append(row)
        self._epochs: dict[RowKey, list[TableRow]] = defaultdict(list)
        self._causes: dict[RowKey, list[TableRow]] = defaultdict(list)
        self._members: dict[str, dict[str, TableRow]] = defaultdict(dict)
        for row in tables["epochs"]:
            if row["rebalance_seq"] is not None:
                self._epochs[rebalance_key(row)].append(row)
        for row in tables["rebalance_causes"]:
            self._causes[epoch_key(row)].append(row)
        for row in tables["members"]:
            self._members[row["group_id"]][row["member_id"]] = row

    def short(self, rebalance: TableRow) -> Sentence:
        """Who held it up and how, where somebody did, and what set it off."""
        if rebalance["ended_at"] is None:
            said = [*self.now(rebalance), self.set_off(rebalance)]
            return Sentence.joined(" ", filter(None, said))
        held_up = [self.held_up(rebalance), *self.ways(rebalance)] if held_up_of(rebalance) else []
        return Sentence.joined(" ", [*held_up, self.set_off(rebalance)])

    def now(self, rebalance: TableRow, who: str = "It") -> list[Sentence]:
        """For whom the group, which begins the sentence as `who`, waits in a rebalance that goes on."""
        present = present_of(self._states[rebalance["group_id"]])
        if present is None:
            lasts = lasting(rebalance["started_at"], self._end_ms)
            return [Sentence((who, " has been rebalancing ", lasts, "."))]
        return list(waits(present, who, rebalance, self._end_ms))

    def held_up(self, rebalance: TableRow, what: str = "It") -> Sentence:
        """How long `what`, which has ended, took, who held it up, and for how long; or that it is unknown."""
        found, took = held_up_of(rebalance), duration_of(rebalance)
        lasted = f"took {words.likely(took)}"
        if not found:
            why = "no member held others up for long"
            if is_classic(rebalance):
                why = "the log does not hold whom it waited for"
            return Sentence((what, f" {lasted}: {why}."))
        first, *others = found[:HELD_UP_NAMED]
        sure, how_long = _ADVERBS[first.certainty], _lasted(first, took)
        group_id = rebalance["group_id"]
        by = Sentence((self._who(group_id, first), f" {sure}held it up{how_long}"))
        if _came_before(first, rebalance):
            how_long = "" if first.ms is None else f" for {words.duration(first.ms)}"
            by = Sentence((self._who(group_id, first), f" was {sure}silent{how_long} before it"))
        parts: list[str] = [by]
        for holder in others:
            if _came_before(holder, rebalance):
                continue
            joined, meanwhile = ", and ", ", in part at the same time"
            if first.to_ms is not None and (holder.from_ms or 0) >= first.to_ms:
                joined, meanwhile = ", then ", ""
            # The certainty of the first is said already.
            differs = holder.certainty != first.certainty
            sure = f" {_ADVERBS[holder.certainty].strip() or 'certainly'}" if differs else ""
            how_long = f"{sure}{_lasted(holder, took)}{meanwhile}"
            parts += [joined, self._who(group_id, holder), how_long]
        return Sentence((what, f" {lasted}: ", *parts, "."))

    def ways(self, rebalance: TableRow) -> Iterator[Sentence]:
        """In which way each of them did; those alike in one sentence."""
        alike: dict[str, list[HeldUp]] = defaultdict(list)
        for holder in held_up_of(rebalance)[:HELD_UP_NAMED]:
            alike[PREDICATES[holder.why]].append(holder)
        for predicate, holders in alike.items():
            ids = (holder.member_id for holder in holders)
            names = ("Its coordinator" if each is None else MemberId(each) for each in ids)
            whom = Sentence.joined(" and ", names)
            each = " each" if len(holders) > 1 else ""
            yield Sentence((whom, f"{each} {predicate}."))

    def set_off(self, rebalance: TableRow) -> Sentence:
        """One sentence: the cause of its first epoch with names, and those of the epochs that followed.

        Empty for a join phase that goes on by the coordinator's log: `now` quotes its reason.
        """
        epochs = sorted(self._epochs[rebalance_key(rebalance)], key=lambda row: row["epoch"])
        if not epochs and is_open_join_phase(rebalance):
            return Sentence(())
        if not epochs:
            return Sentence.plain("What set it off is not in the log.")
        first, *later = epochs
        parts = [Sentence(("Set off by: ", self.causes_of(first)))]
        informative = [row for row in later if row["primary_cause"] not in _SAID_BY_ANOTHER]
        parts += [
            Sentence(("then ", self.causes_of(row))) for row in informative[: CAUSES_NAMED - 1]
        ]
        if len(informative) >= CAUSES_NAMED:
            more = words.counted(len(informative) - CAUSES_NAMED + 1, "more change")
            parts.append(Sentence.plain(f"then {more}"))
        return Sentence((Sentence.joined("; ", parts), "."))

    def causes_of(self, epoch: TableRow) -> Sentence:
        """`member joined, c80 at 10.0.0.1 (proven)`: what began the epoch, and what happened meanwhile."""
        rows = sorted(self._causes[epoch_key(epoch)], key=lambda row: row["cause_seq"])
        if not rows or rows[0]["cause"] == RebalanceCause.UNKNOWN:
            return Sentence.plain("unknown, the records that would show it are not in the log")
        began = self._listed([row for row in rows if not causes.is_meanwhile(row)])
        meanwhile = self._listed([row for row in rows if causes.is_meanwhile(row)])
        if began and meanwhile:
            return Sentence((began, "; meanwhile: ", meanwhile))
        return began or meanwhile

    def _listed(self, rows: Sequence[TableRow]) -> Sentence:
        """Those alike together; the less likely only where there is nothing better."""
        sure = [row for row in rows if row["certainty"] != "possible"] or rows
        informative = [row for row in sure if row["cause"] not in _SAID_BY_ANOTHER] or rows[:1]
        alike: dict[tuple[str, str], list[TableRow]] = {}
        for row in informative:
            alike.setdefault((row["cause"], _how_sure(row)), []).append(row)
        parts: list[str] = [self._alike(*key, its_rows) for key, its_rows in alike.items()]
        more = len(parts) - CAUSES_NAMED
        if more > 0:
            parts[CAUSES_NAMED:] = [words.counted(more, "more cause")]
        return Sentence.joined("; ", parts)

    def _alike(self, cause: str, sure: str, rows: Sequence[TableRow]) -> Sentence:
        named = [
            self._member(row["group_id"], row["member_id"])
            for row in rows
            if row["member_id"] is not None
        ]
        parts: list[str] = [causes.label(cause)]
        if named:
            parts += [", ", Sentence.joined(", ", named[:MEMBERS_NAMED])]
        if len(named) > MEMBERS_NAMED:
            parts.append(f" and {len(named) - MEMBERS_NAMED:,} more")
        return Sentence((*parts, f" ({sure})"))

    def _member(self, group_id: str, member_id: str) -> Sentence:
        """A member with its host, where the log has it."""
        row = self._members[group_id].get(member_id)
        host = ((row or {}).get("client_host") or "").removeprefix("/")
        who = MemberId(member_id)
        return Sentence((who, " at ", Name(host))) if host else Sentence((who,))

    def _who(self, group_id: str, holder: HeldUp) -> Sentence:
        if holder.member_id is None:
            return Sentence.plain("a move of its coordinator")
        return self._member(group_id, holder.member_id)


_ADVERBS: Final = {"proven": "", "probable": "probably ", "possible": "perhaps "}


def time_sentence(rebalance: TableRow) -> Sentence | None:
    """`Of its 22.7 s: 20.0 s c74 kept partitions, 1.5 s no target assignment.`; None with fewer than two parts."""
    took, parts = duration_of(rebalance), time_parts_of(rebalance)
    if took is None or len(parts) <= 1:
        return None
    named = parts if len(parts) <= PARTS_NAMED + 1 else parts[:PARTS_NAMED]
    said = [_part(part) for part in named]
    rest_ms = sum(part.ms for part in parts[len(named) :])
    if rest_ms:
        said.append(Sentence.plain(f"{words.duration(rest_ms)} other"))
    return Sentence((f"Of its {words.duration(took.likely)}: ", Sentence.joined(", ", said), "."))


def _part(part: TimePart) -> Sentence:
    before, after = PARTS[part.why]
    who: Sequence[str] = (before,)
    if after:
        who = ("several members" if part.member_id is None else MemberId(part.member_id), after)
    sure = "" if part.certainty == "proven" else f" ({part.certainty})"
    return Sentence((f"{words.duration(part.ms)} ", *who, sure))


def _came_before(holder: HeldUp, rebalance: TableRow) -> bool:
    """Whether the group waited for it before the rebalance: the end of its session is what set that off."""
    took, ended_ms = duration_of(rebalance), rebalance["ended_at"]
    if holder.why != "silent" or holder.to_ms is None or took is None:
        return False
    return bool(holder.to_ms <= ended_ms - took.likely)


def _lasted(holder: HeldUp, took: Bounds | None) -> str:
    if holder.ms is None:
        return ""
    # A member may have been silent for longer: since before the rebalance.
    if took is not None and took.estimate is not None and holder.ms >= took.estimate:
        return " for all of it"
    return f" for {words.duration(holder.ms)}"


def _how_sure(cause: TableRow) -> str:
    """The certainty; with what else ends a static member for good, where an expiry is no more than likely."""
    certainty: str = cause["certainty"]
    removed = RebalanceCause.MEMBER_REMOVED_BY_ADMIN
    if (
        cause["cause"] == RebalanceCause.MEMBER_SESSION_EXPIRED
        and cause["instance_id"] is not None
        and removed in (cause["alternatives"] or ())
    ):
        return f"{certainty}, else {causes.label(removed)}"
    return certainty


def epochs_of(rebalance: TableRow) -> str:
    """`5` or `5 to 7`."""
    first, last = rebalance["first_epoch"], rebalance["last_epoch"]
    if first is None:
        return words.NOTHING
    return str(first) if first == last else f"{first} to {last}"


def rebalance_name(rebalance: TableRow) -> str:
    """`epochs 19 to 20`, `generation 3`."""
    noun = epoch_noun((rebalance,))
    if rebalance["first_epoch"] is None:
        return f"no {noun} in the log"
    many = "" if rebalance["first_epoch"] == rebalance["last_epoch"] else "s"
    return f"{noun}{many} {epochs_of(rebalance)}"


def rebalance_heading(rebalance: TableRow) -> Sentence:
    """`epochs 19 to 20, 22.7 s from 2026-11-21 09:11:49.463 UTC`; `… since` for one that goes on."""
    which = rebalance_name(rebalance)
    took, began = duration_of(rebalance), MomentUtc(rebalance["started_at"])
    if took is None:
        return Sentence((f"{which}, since ", began))
    lasted = words.likely(took)
    if took.most == took.least or not is_classic(rebalance):
        return Sentence((f"{which}, {lasted} from ", began))
    # Where the bounds differ, the time in the row is the latest at which it can have begun.
    return Sentence((f"{which}, {lasted} until ", MomentUtc(rebalance["ended_at"])))
