"""Intervals of ownership and arrivals of members against the truth."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from workshop.accuracy.tally import Measure, Tally

Row = dict[str, Any]
Interval = tuple[int, int | None]


def judge_ownership(
    tally: Tally,
    source: str,
    tables: Mapping[str, list[Row]],
    truth: Mapping[str, list[Row]],
    about: str,
) -> None:
    """By the coordinator's clock an interval is right or wrong; by the client's it comes a little later.

    Members of share groups own nothing.
    """
    shared = {row["group_id"] for row in truth["epoch"] if row["protocol"] == "share"}
    owned = [row for row in tables["ownership"] if row["group_id"] not in shared]
    ours = _intervals(owned, "from_at", "to_at", "topic")
    theirs = _intervals(truth["assignment"], "from", "to", "topic")
    for key in sorted(ours.keys() | theirs.keys()):
        mine, true = ours.get(key, set()), theirs.get(key, set())
        tally.count("ownership", source, "equal", times=len(mine & true))
        for interval in sorted(mine - true, key=str):
            tally.count("ownership", source, "invented")
            tally.example("ownership", f"{about} {key}: {interval} is not true")
        for interval in sorted(true - mine, key=str):
            tally.count("ownership", source, "missing")
            tally.example("ownership", f"{about} {key}: {interval} is missing")
    _judge_uses(tally, source, ours, truth["ownership"])
    _judge_arrivals(tally, source, tables, truth["arrival"], about)


def _intervals(
    rows: Iterable[Row], start: str, end: str, topic: str
) -> dict[tuple[str, str, int, str], set[Interval]]:
    """Intervals of each partition and member, without those that begin and end within one write."""
    found: dict[tuple[str, str, int, str], set[Interval]] = defaultdict(set)
    for row in rows:
        if row[start] != row[end]:
            key = (row["group_id"], row[topic], row["topic_partition"], row["member_id"])
            found[key].add((row[start], row[end]))
    return found


def _judge_uses(
    tally: Tally,
    source: str,
    ours: Mapping[tuple[str, str, int, str], set[Interval]],
    uses: Iterable[Row],
) -> None:
    """How long after the record a client first used what it had got; it may stop and begin again meanwhile."""
    starts: dict[tuple[str, int, str], list[int]] = defaultdict(list)
    for (group_id, _, number, member_id), intervals in ours.items():
        starts[group_id, number, member_id] += [start for start, _ in intervals]
    for times in starts.values():
        times.sort()
    first_use: dict[tuple[str, int, str, int], int] = {}
    for use in sorted(uses, key=lambda row: row["from"]):
        times = starts.get((use["group_id"], use["topic_partition"], use["member_id"]), [])
        place = bisect_left(times, use["from"] + 1)
        if place:
            key = (use["group_id"], use["topic_partition"], use["member_id"], times[place - 1])
            first_use.setdefault(key, use["from"])
    measure = Measure(source, "client", "use began behind the record")
    for key, from_ms in first_use.items():
        tally.errors[measure].add(from_ms, key[-1])


def _judge_arrivals(
    tally: Tally,
    source: str,
    tables: Mapping[str, list[Row]],
    arrivals: Iterable[Row],
    about: str,
) -> None:
    """A member reaches an epoch when it first stands at it or a later one."""
    reached: dict[tuple[str, int, str], list[tuple[int, int]]] = defaultdict(list)
    for row in arrivals:
        key = (row["group_id"], row["incarnation"], row["member_id"])
        reached[key].append((row["epoch"], row["reached_at"]))
    epochs = {(row["group_id"], row["incarnation"], row["epoch"]): row for row in tables["epochs"]}
    for row in tables["convergence"]:
        epoch = epochs[row["group_id"], row["incarnation"], row["epoch"]]
        if epoch["protocol"] != "consumer" or epoch["completeness"] != "complete":
            continue
        steps = reached[row["group_id"], row["incarnation"], row["member_id"]]
        began_ms = row[
            "started_at"
        ]  # the epoch's start, or the return of a static member that had been away
        true_ms = next(
            (at_ms for number, at_ms in steps if number >= row["epoch"] and at_ms >= began_ms), None
        )
        if row["outcome"] != "reached" and true_ms is not None:
            # What is reached behind the next epoch is that one's.
            true_ms = None if row["outcome"] in {"superseded", "left"} else true_ms
        name = "member reached_at"
        where = f"{about} {row['group_id']} epoch {row['epoch']} {row['member_id']}"
        tally.compare(Measure(source, "consumer", name), row["reached_at"], true_ms, where)
