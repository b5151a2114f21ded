"""How an epoch ended, which partitions it moved, and which stood still."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from rebalance_audit.bounds import Bounds
from rebalance_audit.figures.rows import TableRow, epoch_began_at, is_classic, unowned_of
from rebalance_audit.sentences import words
from rebalance_audit.sentences.render import filled
from rebalance_audit.sentences.sentence import MemberId, Name, Sentence

STRETCHES_SHOWN: Final = 5


def partition_sentences(
    epoch: TableRow, ownership: Sequence[TableRow], end_ms: int | None
) -> Iterator[Sentence]:
    """What it moved, and the longest stretches without owner until `end_ms`, the next epoch's begin (epoch ms)."""
    if epoch["partitions"]:
        yield Sentence.plain(
            f"{words.counted(epoch['partitions'], 'partition')} in the assignment: "
            f"against the one before, {words.number(epoch['partitions_moved'])} "
            f"to another member, {words.number(epoch['partitions_added'])} new, "
            f"{words.number(epoch['partitions_dropped'])} no longer assigned."
        )
    stretches: dict[tuple[Any, ...], list[TableRow]] = {}
    start_ms = epoch_began_at(epoch)
    for row in ownership:
        until_ms, unowned_ms = row["from_at"], row["unowned_before_ms"]
        if not unowned_ms or until_ms is None or start_ms is None:
            continue
        since_ms = until_ms - unowned_ms
        if until_ms >= start_ms and (end_ms is None or since_ms < end_ms):
            story = (since_ms, until_ms, row["previous_member_id"], row["member_id"])
            stretches.setdefault(story, []).append(row)
    longest = sorted(stretches.items(), key=lambda item: item[0][0] - item[0][1])
    for (since_ms, until_ms, before, after), rows in longest[:STRETCHES_SHOWN]:
        yield filled(
            "{partitions} stood still for {lasted:duration}, from {since:moment} to {until:moment}: {first}then with "
            "{after:member}.",
            partitions=partitions_text(rows),
            lasted=until_ms - since_ms,
            since=since_ms,
            until=until_ms,
            first=Sentence(("first with ", MemberId(before), ", ")) if before else "",
            after=after,
        )
    if len(longest) > STRETCHES_SHOWN:
        more = len(longest) - STRETCHES_SHOWN
        yield Sentence.plain(
            f"… and {words.counted(more, 'shorter stretch', 'shorter stretches')}."
        )
    unowned = unowned_of(epoch)
    if not longest and unowned is not None and unowned.most != 0:
        yield from without_owner("Partitions were", unowned)


def without_owner(whose: str, unowned: Bounds | None) -> Iterator[Sentence]:
    """How long, if anything is known: of a share group nothing is, since its members have partitions in common."""
    if unowned is not None and words.is_known(unowned):
        lasted = words.bounds_in_sentence(unowned)
        yield Sentence.plain(f"{whose} without owner for {lasted}, summed over partitions.")


def outcome(epoch: TableRow) -> str:
    """`converged in 1.2 s`, `superseded by 20`, `assigned 64 ms after the join phase`."""
    took = words.duration(epoch["convergence_ms"])
    match epoch["outcome"]:
        case "converged" if is_classic(epoch):
            return f"assigned {words.duration(epoch['sync_ms'])} after the join phase"
        case "converged" if epoch["assign_ms"]:
            return f"converged in {took}, the assignment after {words.duration(epoch['assign_ms'])}"
        case "converged":
            return f"converged in {took}"
        case "superseded":
            return f"superseded by {epoch['superseded_by']}"
        case "open":
            return "not converged when the log ends"
        case other:
            return str(other)


def partitions_text(rows: Iterable[TableRow]) -> Sentence:
    """`orders 0-3,7; payments 1`: topic partitions of ownership rows, consecutive numbers as ranges."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        numbers[row["topic"] or row["topic_id"]].append(row["topic_partition"])
    return Sentence.joined(
        "; ",
        (
            Sentence((Name(topic), f" {_joined(sorted(numbers[topic]))}"))
            for topic in sorted(numbers)
        ),
    )


def _joined(ascending: list[int]) -> str:
    stretches: list[list[int]] = []
    for number in ascending:
        if stretches and number == stretches[-1][1] + 1:
            stretches[-1][1] = number
        else:
            stretches.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in stretches)
