"""The lag of groups by owner, for `watch`: numbers, and a line of text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rebalance_audit.audit.lag.end_offsets import EndOffsets, Lag, lag_at
from rebalance_audit.audit.ownership.commit_book import CommittedPosition
from rebalance_audit.bounds import NOTHING, Bounds
from rebalance_audit.sentences import words
from rebalance_audit.visible import shortened

OWNERS_SHOWN: Final = 5


@dataclass(slots=True)
class LagSum:
    """Lag summed over partitions with a sample."""

    partitions: int = 0
    records: Bounds = NOTHING
    least_ms: int = 0
    most_ms: int | None = 0
    """Of the partition whose oldest record has been waiting longest; None without an upper bound."""
    per_second: float | None = None
    """Commit rate; None where no partition shows one."""
    lost: int = 0
    beyond: int = 0
    """Offsets by which committed ones lie beyond the ends of their partitions."""
    may_be_markers: int = 0
    """Partitions whose only offset that waits may be the marker of a transaction."""
    last_commit_ms: int | None = None
    sampled_ms: int | None = None

    def add(self, position: CommittedPosition, lag: Lag | None, sampled_ms: int | None) -> None:
        """One more partition; without a sample only its commits count."""
        if position.per_second is not None:
            self.per_second = (self.per_second or 0.0) + position.per_second
        self.last_commit_ms = max(self.last_commit_ms or 0, position.at_ms)
        if lag is None or sampled_ms is None:
            return
        self.sampled_ms = (
            sampled_ms if self.sampled_ms is None else min(self.sampled_ms, sampled_ms)
        )
        self.lost += lag.lost or 0
        self.beyond += lag.beyond
        if lag.records is None:
            return
        self.partitions += 1
        self.may_be_markers += lag.may_be_marker
        self.records = self.records.plus(lag.records)
        self.least_ms = max(self.least_ms, lag.least_ms or 0)
        most_ms = lag.most_ms
        self.most_ms = (
            None if self.most_ms is None or most_ms is None else max(self.most_ms, most_ms)
        )

    @property
    def is_known(self) -> bool:
        """Whether a partition has a lag, or none has a sample: then nothing is known to wait."""
        return bool(self.partitions or not self.beyond)

    def columns(self) -> dict[str, Any]:
        """The numbers for programs."""
        return {
            "partitions": self.partitions,
            "lag_records": self.records.least if self.is_known else None,
            "lag_min_ms": self.least_ms if self.is_known else None,
            "lag_max_ms": self.most_ms if self.is_known else None,
            "committed_per_second": self.per_second,
            "records_lost": self.lost,
            "beyond_end": self.beyond,
            "last_commit_at": words.iso(self.last_commit_ms),
            "sampled_at": words.iso(self.sampled_ms),
        }


@dataclass(slots=True)
class GroupLag:
    """The lag of one group."""

    group_id: str
    total: LagSum = field(default_factory=LagSum)
    owners: dict[tuple[str, str], LagSum] = field(default_factory=dict)
    """(Member id or group.instance.id, client id) -> its partitions."""

    def by_lag(self) -> list[tuple[tuple[str, str], LagSum]]:
        """Owners, the one that lags most first."""
        return sorted(self.owners.items(), key=lambda each: (-each[1].records.least, each[0]))

    def sentence(self) -> str:
        """One line."""
        total = self.total
        owners = self.by_lag()
        shown = [
            f"{shortened(client_id or member)} {f'{lag.records.least:,}' if lag.is_known else 'unknown'}"
            for (member, client_id), lag in owners[:OWNERS_SHOWN]
        ]
        if len(owners) > OWNERS_SHOWN:
            shown.append(words.counted(len(owners) - OWNERS_SHOWN, "more owner"))
        lost = f", {words.counted(total.lost, 'record')} lost to retention" if total.lost else ""
        rate = "" if total.per_second is None else f", commits {total.per_second:,.0f} records/s"
        lags = (
            words.counted(total.records.least, "record")
            if total.is_known
            else "an unknown number of records"
        )
        if total.may_be_markers and total.may_be_markers == total.records.least:
            lags += " (the markers of transactions, perhaps: they are no records)"
        beyond = ""
        if total.beyond:
            offsets = words.counted(total.beyond, "offset")
            beyond = f", committed offsets lie {offsets} beyond the end"
        return f"{shortened(self.group_id)} lags {lags}{_waiting(total)}{rate}{lost}{beyond}: {', '.join(shown)}"

    def columns(self) -> dict[str, Any]:
        """The group and its owners for programs."""
        owners = [
            {"member": member, "client_id": client_id, **lag.columns()}
            for (member, client_id), lag in self.by_lag()
        ]
        return {"group_id": self.group_id, **self.total.columns(), "owners": owners}


def group_lags(
    positions: Iterable[tuple[str, CommittedPosition]], end_offsets: EndOffsets
) -> Iterator[GroupLag]:
    """The lag of each group at the newest sample of each of its partitions, in order of group ids.

    What was committed since then counts as well.
    """
    found: dict[str, GroupLag] = {}
    for group_id, position in positions:
        group = found.setdefault(group_id, GroupLag(group_id))
        samples = end_offsets.of(position.topic, position.topic_partition)
        lag = sampled_ms = None
        if samples is not None and samples.samples:
            sampled_ms = samples.samples[-1].sampled_at_ms
            # What was committed since the sample moves the time on.
            lag = lag_at(
                samples, position.committed, position.at_ms, max(sampled_ms, position.at_ms)
            )
        who = position.instance_id or position.member_id, position.client_id
        for each in (group.total, group.owners.setdefault(who, LagSum())):
            each.add(position, lag, sampled_ms)
    for group_id in sorted(found):
        yield found[group_id]


def _waiting(lag: LagSum) -> str:
    if lag.most_ms is None:
        return f", waiting for at least {words.duration(lag.least_ms)}" if lag.least_ms else ""
    if not lag.records.least:
        return ""
    return f", waiting for up to {words.duration(lag.most_ms)}"
