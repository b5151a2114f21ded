"""How an epoch ended, which partitions it moved, which stood still, and what rebalances cost in records."""

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


def came_and_went(epoch: TableRow, minus: str = "-") -> list[str]:
    """`+2`, `-1`: how many members joined and left with an epoch, where any did."""
    signs = (("+", epoch["members_joined"]), (minus, epoch["members_left"]))
    return [f"{sign}{count}" for sign, count in signs if count]


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


_WORTH_NAMING: Final = 10
"""The lag before is named if it is at least one in so many of the delayed records."""


def cost_of(rebalance: TableRow) -> Sentence | None:
    """`Cost: about 41,000 records (38,000 – 44,000) up to 43.0 s late, at most 1,200 read twice.`; None if unknown."""
    parts = [part for part in (_delayed(rebalance), _again(rebalance), _skipped(rebalance)) if part]
    if not parts:
        return None
    return Sentence.plain(
        f"Cost: {', '.join(parts)}.{_perhaps_skipped(rebalance)}{_caught_up(rebalance)}"
    )


def cost_in_total(rebalances: Iterable[TableRow]) -> Iterator[Sentence]:
    """A sentence on all rebalances of a group; none if no cost is known."""
    counted = [row for row in rebalances if row.get("records_delayed_estimate")]
    if not counted:
        return
    total = sum(row["records_delayed_estimate"] for row in counted)
    longest = max(row["longest_stop_ms"] or 0 for row in counted)
    estimated = any(row["records_delayed_by"] == "commit_rate" for row in counted)
    how = ", estimated by the rate of commits" if estimated else ""
    yield Sentence.plain(
        f"Its rebalances delayed about {words.counted(total, 'record')}, by up to "
        f"{words.duration(longest)}{how}."
    )


def _delayed(row: TableRow) -> str:
    estimate = row.get("records_delayed_estimate")
    if not estimate:
        return ""
    stop_ms = row["longest_stop_ms"]
    late = "" if stop_ms is None else f" up to {words.duration(stop_ms)} late"
    if row["records_delayed_by"] == "commit_rate":
        return f"an estimated {words.counted(estimate, 'record')}{late} (by the rate of commits before)"
    text = _number(Bounds(row["records_delayed_min"], row["records_delayed_max"], estimate)) + late
    lagged = row["records_lagged_min"]
    if lagged and lagged * _WORTH_NAMING >= estimate:
        text += f" (at least {lagged:,} of them waited before)"
    return text


def _number(records: Bounds) -> str:
    if records.exact is not None:
        return words.counted(records.exact, "record")
    most = f" – {records.most:,}" if records.most is not None else " or more"
    return f"about {words.counted(records.likely, 'record')} ({records.least:,}{most})"


def _again(row: TableRow) -> str:
    least, most = row.get("records_read_again_min"), row.get("records_read_again_max")
    if least:
        return f"at least {least:,} read twice"
    if most:
        likely = row["records_read_again_estimate"]
        return f"at most {most:,} read twice" + (f", likely {likely:,}" if likely < most else "")
    return ""


def _skipped(row: TableRow) -> str:
    why = row.get("records_skipped_why")
    if why == "retention":
        return f"at least {row['records_skipped_min']:,} deleted by retention before they were committed"
    if why == "offsets_reset":
        most = row["records_skipped_max"]
        count = "an unknown number" if most is None else f"at most {most:,}"
        return f"{count} skipped (the committed offset was moved while the group was empty)"
    return ""


def _perhaps_skipped(row: TableRow) -> str:
    most = row.get("records_skipped_max")
    if not most or row.get("records_skipped_why") in {"retention", "offsets_reset"}:
        return ""
    return (
        f" As many as {words.counted(most, 'record')} may have been skipped: the log shows the first offset that was "
        "committed after, not where reading began."
    )


def _caught_up(row: TableRow) -> str:
    most = row.get("catch_up_max_ms")
    if most is None:
        return ""
    # Who begins at the end has not read what waited.
    if row.get("records_skipped_max") == 0:
        return f" Caught up within {words.duration(most)}."
    return f" The end was committed within {words.duration(most)}."
