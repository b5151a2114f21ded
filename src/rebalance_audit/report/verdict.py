"""Who held a rebalance up, and what caused it: one answer for the overview, the detail of a group and `explain`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from rebalance_audit.audit.causes.cause import RebalanceCause
from rebalance_audit.report import causes, words
from rebalance_audit.report.holders import HoldUp, How, Stretch, holders_of
from rebalance_audit.report.sentence import MemberId, MomentUtc, Name, Sentence
from rebalance_audit.report.summary import (
    RowKey,
    TableRow,
    Tables,
    duration_of,
    epoch_key,
    is_classic,
    rebalance_key,
)

HOLDERS_NAMED: Final = 2
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

    def __init__(self, tables: Tables) -> None:
        """Takes `epochs`, `convergence`, `rebalance_causes` and `members`."""
        self._epochs: dict[RowKey, list[TableRow]] = defaultdict(list)
        self._progress: dict[RowKey, list[TableRow]] = defaultdict(list)
        self._causes: dict[RowKey, list[TableRow]] = defaultdict(list)
        self._members: dict[str, dict[str, TableRow]] = defaultdict(dict)
        for row in tables["epochs"]:
            if row["rebalance_seq"] is not None:
                self._epochs[rebalance_key(row)].append(row)
        for row in tables["convergence"]:
            self._progress[epoch_key(row)].append(row)
        for row in tables["rebalance_causes"]:
            self._causes[epoch_key(row)].append(row)
        for row in tables["members"]:
            self._members[row["group_id"]][row["member_id"]] = row

    def holders(self, rebalance: TableRow) -> list[HoldUp]:
        """The members for which the group waited for a share worth naming, the longest first."""
        return holders_of(rebalance, list(self._stretches(rebalance)))

    def short(self, rebalance: TableRow) -> Sentence:
        """Who held it up and how, where somebody did, and what set it off."""
        held_up = (
            [self.held_up(rebalance), *self.ways(rebalance)] if self.holders(rebalance) else []
        )
        return Sentence.joined(" ", [*held_up, self.set_off(rebalance)])

    def held_up(self, rebalance: TableRow, what: str = "") -> Sentence:
        """`what` was held up by whom, for how long of how long; or that nobody did, or nothing tells. One sentence."""
        found, took = self.holders(rebalance), duration_of(rebalance)
        if not found:
            lasted = "goes on" if took is None else f"took {words.bounds_in_sentence(took)}"
            return Sentence((f"{what or 'It'} {lasted}: ", self._nobody(rebalance), "."))
        timed = [holder for holder in found if holder.kept_ms is not None]
        whom = [
            self._who(rebalance["group_id"], holder.member_id)
            for holder in (timed or found)[:HOLDERS_NAMED]
        ]
        if timed and took is not None:
            kept = [words.duration(holder.kept_ms) for holder in timed]
            least = "" if took.most == took.least else "at least "
            kept[0] += f" of {least}{words.duration(took.least)}"
            by = Sentence.joined(
                ", and by ",
                (Sentence((who, f" for {ms}")) for who, ms in zip(whom, kept, strict=False)),
            )
            return Sentence((f"{what} was held up by " if what else "Held up by ", by, "."))
        by = Sentence.joined(" and ", whom)
        if took is None:
            if what:
                return Sentence((f"{what} is held up by ", by, "."))
            return Sentence(("Held up by ", by, " at the end of the log."))
        perhaps = f"{what} was perhaps held up by " if what else "Perhaps held up by "
        return Sentence((perhaps, by, "."))

    def ways(self, rebalance: TableRow) -> Iterator[Sentence]:
        """In which way each of them did; those alike in one sentence."""
        alike: dict[How, list[str]] = defaultdict(list)
        for holder in self.holders(rebalance)[:HOLDERS_NAMED]:
            alike[holder.how].append(holder.member_id)
        for how, member_ids in alike.items():
            whom = Sentence.joined(" and ", map(MemberId, member_ids))
            yield Sentence((whom, f" each {how}." if len(member_ids) > 1 else f" {how}."))

    def set_off(self, rebalance: TableRow) -> Sentence:
        """One sentence: the cause of its first epoch with names, and those of the epochs that followed."""
        epochs = [epoch for epoch, *_ in self._stretches(rebalance)]
        if not epochs:
            return Sentence.plain("What set it off is not in the log.")
        first, *later = epochs
        told = [Sentence(("Set off by: ", self.causes_of(first)))]
        telling = [row for row in later if row["primary_cause"] not in _SAID_BY_ANOTHER]
        told += [Sentence(("then ", self.causes_of(row))) for row in telling[: CAUSES_NAMED - 1]]
        if len(telling) >= CAUSES_NAMED:
            more = words.counted(len(telling) - CAUSES_NAMED + 1, "more change")
            told.append(Sentence.plain(f"then {more}"))
        return Sentence((Sentence.joined("; ", told), "."))

    def causes_of(self, epoch: TableRow) -> Sentence:
        """`member joined, c80 at 10.0.0.1 (proven)`: what began the epoch, and what happened meanwhile."""
        rows = sorted(self._causes[epoch_key(epoch)], key=lambda row: row["cause_seq"])
        if not rows or rows[0]["cause"] == RebalanceCause.UNKNOWN:
            return Sentence.plain("unknown, the records that would tell are not in the log")
        began = self._listed([row for row in rows if not causes.is_meanwhile(row)])
        meanwhile = self._listed([row for row in rows if causes.is_meanwhile(row)])
        if began and meanwhile:
            return Sentence((began, "; meanwhile: ", meanwhile))
        return began or meanwhile

    def _listed(self, rows: Sequence[TableRow]) -> Sentence:
        """Those alike together; the less likely only where there is nothing better."""
        sure = [row for row in rows if row["certainty"] != "possible"] or rows
        telling = [row for row in sure if row["cause"] not in _SAID_BY_ANOTHER] or rows[:1]
        alike: dict[tuple[str, str], list[TableRow]] = {}
        for row in telling:
            alike.setdefault((row["cause"], _how_sure(row)), []).append(row)
        told: list[str] = [self._alike(*key, its_rows) for key, its_rows in alike.items()]
        more = len(told) - CAUSES_NAMED
        if more > 0:
            told[CAUSES_NAMED:] = [words.counted(more, "more cause")]
        return Sentence.joined("; ", told)

    def _alike(self, cause: str, sure: str, rows: Sequence[TableRow]) -> Sentence:
        named = [
            self._who(row["group_id"], row["member_id"])
            for row in rows
            if row["member_id"] is not None
        ]
        parts: list[str] = [causes.label(cause)]
        if named:
            parts += [", ", Sentence.joined(", ", named[:MEMBERS_NAMED])]
        if len(named) > MEMBERS_NAMED:
            parts.append(f" and {len(named) - MEMBERS_NAMED:,} more")
        return Sentence((*parts, f" ({sure})"))

    def _nobody(self, rebalance: TableRow) -> Sentence:
        took, slowest_member_id = duration_of(rebalance), rebalance["slowest_member_id"]
        if is_classic(rebalance):
            return Sentence.plain("no record tells whom it waited for")
        if took is None:
            return Sentence.plain("nobody keeps partitions that others wait for")
        if not slowest_member_id or not took.least:
            return Sentence.plain("nobody held it up")
        return Sentence.of(
            "nobody was slow to give up partitions; the last to arrive was {who}{moved}",
            who=self._who(rebalance["group_id"], slowest_member_id),
            moved=self._coordinator_moved(rebalance),
        )

    def _coordinator_moved(self, rebalance: TableRow) -> str:
        """Members wait for a new coordinator too; only the next record has its leader epoch."""
        epochs = [epoch for epoch, *_ in self._stretches(rebalance)]
        following = self._epochs[rebalance_key(rebalance, after=1)]
        led = [row["coordinator_epoch"] for row in (*epochs, *following[:1])]
        if None in led or len(set(led)) <= 1:
            return ""
        return ". The coordinator moved to another broker during it or after it, which the members may have waited for"

    def _who(self, group_id: str, member_id: str) -> Sentence:
        """A member with its host, where the log has it."""
        row = self._members[group_id].get(member_id)
        host = ((row or {}).get("client_host") or "").removeprefix("/")
        who = MemberId(member_id)
        return Sentence((who, " at ", Name(host))) if host else Sentence((who,))

    def _stretches(self, rebalance: TableRow) -> Iterator[Stretch]:
        """Its epochs in their order."""
        epochs = sorted(self._epochs[rebalance_key(rebalance)], key=lambda row: row["epoch"])
        ends: Sequence[int] = [row["started_at"] or 0 for row in epochs[1:]]
        for epoch, until_ms in zip(epochs, [*ends, rebalance["ended_at"]], strict=False):
            key = epoch_key(epoch)
            yield Stretch(epoch, until_ms, self._progress[key], self._causes[key])


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


def rebalance_heading(rebalance: TableRow) -> Sentence:
    """`epochs 19 to 20, 22.7 s from 2026-11-21 09:11:49.463 UTC`; `… since` for one that goes on."""
    first, last = rebalance["first_epoch"], rebalance["last_epoch"]
    noun = "generation" if is_classic(rebalance) else "epoch"
    which = f"{noun} {first}" if first == last else f"{noun}s {first} to {last}"
    took, began = duration_of(rebalance), MomentUtc(rebalance["started_at"])
    if took is None:
        return Sentence((f"{which}, since ", began))
    lasted = words.bounds_in_sentence(took)
    if took.most == took.least or not is_classic(rebalance):
        return Sentence((f"{which}, {lasted} from ", began))
    # Where the bounds differ, the time in the row is the latest at which it can have begun.
    return Sentence((f"{which}, {lasted} until ", MomentUtc(rebalance["ended_at"])))
