"""Facts of a group that decide whether a change of protocol, assignor or membership pays."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.rows import Row
from rebalance_audit.whatif.group_rows import GroupRows, epoch_began_ms
from rebalance_audit.whatif.memberships import Slot

DECISIVE_FINDINGS: Final = (
    "half_finished_migration",
    "protocol_downgraded",
    "eager_under_cooperative_name",
    "instance_id_conflict",
    "instance_id_refused",
    "flapping_member",
)
"""Findings that bear on a migration, the most important first."""


class GroupFacts(NamedTuple):
    """What the log shows in a window."""

    protocols: tuple[str, ...]
    """Of the epochs, each once, in order of appearance."""
    assignors: tuple[str, ...]
    """As the log names them, each once, in order of appearance."""
    instances: int
    static_instances: int
    session_timeouts_ms: tuple[int, ...]
    """Of classic members, each once; records of the consumer protocol have none."""
    rebalance_timeouts_ms: tuple[int, ...]
    server_assignors: tuple[str, ...]
    regexes: tuple[str, ...]
    """That members of the consumer protocol subscribe by."""
    subscriptions: int
    """Different sets of topics among the members."""
    restarts: int
    """Processes that were followed by another one of their instance."""
    findings: tuple[str, ...]
    """Kinds of DECISIVE_FINDINGS that the window has."""


def group_facts(rows: GroupRows, slots: Sequence[Slot], from_ms: int, to_ms: int) -> GroupFacts:
    """The facts of the window `[from_ms, to_ms)`."""
    epochs = [row for row in rows.epochs if from_ms <= epoch_began_ms(row) < to_ms]
    lived = [
        [stint for stint in slot.stints if _overlaps(stint.from_ms, stint.to_ms, from_ms, to_ms)]
        for slot in slots
    ]
    stints = [each for each in lived if each]
    members = [stint.member for each in stints for stint in each]
    named = {
        row["kind"]
        for row in rows.findings
        if _overlaps(row["from_at"] or 0, row["to_at"], from_ms, to_ms)
    }
    topics = {tuple(sorted(each)) for each in (row["subscribed_topics"] for row in members) if each}
    return GroupFacts(
        _each_once(row["protocol"] for row in epochs),
        _each_once(row["assignor"] for row in epochs),
        len(stints),
        sum(each[-1].member["instance_id"] is not None for each in stints),
        _numbers(members, "session_timeout_ms"),
        _numbers(members, "rebalance_timeout_ms"),
        _each_once(row["server_assignor"] for row in members),
        tuple(sorted(set(_each_once(row["subscribed_regex"] for row in members)))),
        len(topics),
        sum(len(each) - 1 for each in stints),
        tuple(kind for kind in DECISIVE_FINDINGS if kind in named),
    )


def _overlaps(begun_ms: int, ended_ms: int | None, from_ms: int, to_ms: int) -> bool:
    return begun_ms < to_ms and (ended_ms is None or ended_ms >= from_ms)


def _each_once(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def _numbers(members: Iterable[Row], name: str) -> tuple[int, ...]:
    return tuple(sorted({row[name] for row in members if row[name] is not None}))
