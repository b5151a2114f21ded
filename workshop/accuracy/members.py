"""How members ended, against the truth: by library, by what they commit, and by how much traffic they have."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

from workshop.accuracy.tally import Tally
from workshop.accuracy.verdicts import UNDECIDED

Row = dict[str, Any]

NO_COMMIT: Final = "no commit"
REMOVED: Final = "member_removed_by_admin"
RESULTS: Final = ("right", "undecided", "wrong", "removed by an administrator, called left")


class Habit(NamedTuple):
    """What a client commits, and when."""

    library: str
    committing: str
    traffic: str


class Clients(NamedTuple):
    """What a simulation knows of its clients, and no audit."""

    habits: Mapping[tuple[str, str], Habit]
    """By group and client id."""
    committed: AbstractSet[tuple[str, str]]
    """Group and member id of every member with an acknowledged commit."""


def judge_members(
    tally: Tally,
    source: str,
    members: Iterable[Row],
    truth: Iterable[Row],
    clients: Clients,
    about: str,
) -> None:
    """A member id that ended several times counts by its last end."""
    last = {(row["group_id"], row["member_id"]): row for row in truth}
    for row in members:
        key = row["group_id"], row["member_id"]
        true = last.get(key)
        if true is None:
            tally.count("members", source, "invented")
            tally.example("members", f"{about} {row['member_id']}")
            continue
        how, end, certainty = row["left_how"], true["end"], row["left_certainty"]
        if how is None or end is None:
            tally.count("members", source, "equal" if how is end else "wrong")
            continue
        if how == end:
            result = "right"
            tally.count("members", source, "equal")
        elif end in UNDECIDED.get(how, ()):
            result = "undecided"
            tally.count("members", source, result)
        else:
            result = "undecided" if how == "member_departed" else "wrong"
            result = RESULTS[3] if (end, how) == (REMOVED, "member_left") else result
            tally.count("members", source, f"wrong, {certainty}")
            tally.count("member end", source, end, how, certainty)
            if certainty == "proven":
                where = f"{about} {row['member_id']}: {how} for {end}"
                tally.example("member end proven and wrong", where)
        habit = clients.habits.get((row["group_id"], row["client_id"].removesuffix("-twin")))
        if habit is None or row["protocol"] not in {"classic", "consumer"}:
            continue
        if key in clients.committed:
            labels = (f"{habit.library}, {habit.committing}", habit.traffic)
        else:
            labels = (NO_COMMIT, "any")
        tally.count("end", source, row["protocol"], *labels, result)
        if key in clients.committed and result != "right":
            where = f"{about} {row['group_id']} {row['member_id']}: {how} for {end} ({habit})"
            tally.example(f"end {result} {source} {row['protocol']}", where)
