"""Who held a rebalance up, and what caused it: one answer for the overview, the detail of a group and `explain`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rebalance_audit.report import causes, words
from rebalance_audit.report.summary import TableRow, Tables, duration_of, is_classic

NAMED_FROM_PERCENT: Final = 10
"""Share of a rebalance for which a member must keep others waiting to be named."""
NAMED_FROM_MS: Final = 100
HOLDERS_NAMED: Final = 2


class HoldUp(NamedTuple):
    """A member that held partitions for which others waited."""

    member_id: str
    kept_ms: int
    gave_up: bool
    """False where the next epoch came, or the member was gone, before it had released them."""


class Verdicts:
    """The answers from the tables of one or many groups."""

    def __init__(self, tables: Tables) -> None:
        """Takes `epochs`, `convergence`, `rebalance_causes` and `members`."""
        self._epochs: dict[tuple[str, int, int], list[TableRow]] = defaultdict(list)
        self._progress: dict[tuple[str, int, int], list[TableRow]] = defaultdict(list)
        self._causes: dict[tuple[str, int, int], list[TableRow]] = defaultdict(list)
        for row in tables["epochs"]:
            if row["rebalance_seq"] is not None:
                self._epochs[row["group_id"], row["incarnation"], row["rebalance_seq"]].append(row)
        for row in tables["convergence"]:
            self._progress[row["group_id"], row["incarnation"], row["epoch"]].append(row)
        for row in tables["rebalance_causes"]:
            self._causes[row["group_id"], row["incarnation"], row["epoch"]].append(row)
        self._members = {(row["group_id"], row["member_id"]): row for row in tables["members"]}

    def holders(self, rebalance: TableRow) -> list[HoldUp]:
        """The members that kept others waiting for a share worth naming, the longest first; () for a classic group."""
        took = duration_of(rebalance)
        if is_classic(rebalance) or took is None:
            return []
        kept: dict[str, int] = defaultdict(int)
        unreleased = set()
        for epoch, until_ms in self._epochs_of(rebalance):
            rows = self._progress[epoch["group_id"], epoch["incarnation"], epoch["epoch"]]
            awaited = {member_id for row in rows for member_id in row["waited_for"] or ()}
            for row in rows:
                began_ms, member_id = row["revoke_started_at"], row["member_id"]
                if began_ms is None or (member_id not in awaited and row["revoked_at"] is not None):
                    continue
                ended_ms = until_ms if row["revoked_at"] is None else row["revoked_at"]
                kept[member_id] += max(0, ended_ms - began_ms)
                if row["revoked_at"] is None:
                    unreleased.add(member_id)
        least_ms = max(NAMED_FROM_MS, took.least * NAMED_FROM_PERCENT // 100)
        named = [
            HoldUp(member_id, min(kept_ms, took.least), member_id not in unreleased)
            for member_id, kept_ms in kept.items()
            if kept_ms >= least_ms
        ]
        return sorted(named, key=lambda holder: (-holder.kept_ms, holder.member_id))

    def short(self, rebalance: TableRow) -> str:
        """The member that held it up most, and what caused it."""
        return " ".join([*self._held_up(rebalance, 1), self._set_off(rebalance)])

    def sentences(self, rebalance: TableRow) -> Iterator[str]:
        """Who held it up, how long out of how long, and what caused it, with names."""
        yield from self._held_up(rebalance, HOLDERS_NAMED)
        yield self._set_off(rebalance)
        slowest_member_id = rebalance["slowest_member_id"]
        if slowest_member_id and not is_classic(rebalance) and not self.holders(rebalance):
            who = self._who(rebalance["group_id"], slowest_member_id)
            yield f"Nobody kept partitions that others waited for; the last to arrive was {who}."

    def _held_up(self, rebalance: TableRow, limit: int) -> Iterator[str]:
        took = duration_of(rebalance)
        of_how_long = words.duration(None if took is None else took.least)
        for holder in self.holders(rebalance)[:limit]:
            end = "" if holder.gave_up else " and did not release them"
            yield (
                f"{self._who(rebalance['group_id'], holder.member_id)} held it up: it kept partitions that others "
                f"waited for during {words.duration(holder.kept_ms)} of {of_how_long}{end}."
            )

    def _set_off(self, rebalance: TableRow) -> str:
        key = (rebalance["group_id"], rebalance["incarnation"], rebalance["first_epoch"])
        primary = next((row for row in self._causes[key] if row["cause_seq"] == 0), None)
        if primary is None:
            return "What set it off is not in the log."
        whom = ""
        if primary["member_id"] is not None:
            whom = f", {self._who(rebalance['group_id'], primary['member_id'])}"
        return (
            f"It was set off by: {causes.label(primary['cause'])}{whom} ({primary['certainty']})."
        )

    def _who(self, group_id: str, member_id: str) -> str:
        """A member with its host, where the log has it."""
        row = self._members.get((group_id, member_id))
        host = ((row or {}).get("client_host") or "").removeprefix("/")
        return f"{member_id} at {host}" if host else member_id

    def _epochs_of(self, rebalance: TableRow) -> Iterator[tuple[TableRow, int]]:
        """Its epochs in their order, each with the time at which it was over for the rebalance."""
        key = (rebalance["group_id"], rebalance["incarnation"], rebalance["rebalance_seq"])
        epochs = sorted(self._epochs[key], key=lambda row: row["epoch"])
        ends: Sequence[int] = [row["started_at"] or 0 for row in epochs[1:]]
        yield from zip(epochs, [*ends, rebalance["ended_at"]], strict=True)


def rebalance_heading(rebalance: TableRow) -> str:
    """`epochs 19 to 20, 22.7 s from 2026-11-21 09:11:49.463 UTC`."""
    first, last = rebalance["first_epoch"], rebalance["last_epoch"]
    noun = "generation" if is_classic(rebalance) else "epoch"
    which = f"{noun} {first}" if first == last else f"{noun}s {first} to {last}"
    lasted = words.bounds_in_sentence(duration_of(rebalance))
    return f"{which}, {lasted} from {words.utc(rebalance['started_at'])}"
