"""What the log itself says of a window: rebalances, moves, time without owner, arrivals, and facts about the group.

The facts say whether a change of protocol, assignor or membership pays.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Final, NamedTuple

from rebalance_audit.audit.rows import Row
from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.limits import WHAT_IF_PARTITIONS
from rebalance_audit.sentences.words import counted, duration
from rebalance_audit.whatif.group_rows import GroupRows, epoch_began_ms
from rebalance_audit.whatif.habits import CONSUMER_SESSION_MS
from rebalance_audit.whatif.memberships import REPLACED, Slot, slot_names
from rebalance_audit.whatif.script import ArrivalRates, GroupFacts, Logged, LoggedDelay, Script
from rebalance_audit.whatif.variant import CLASSIC, CONSUMER, COOPERATIVE, SERVER_ASSIGNORS

_NO_COMMIT: Final = (
    "No owner committed a partition in this window before it gave it up, so the log does not show how many records"
    " arrive."
)
_NO_OFFSETS: Final = (
    "An earlier release wrote the lake, without committed offsets; run --full adds them."
)
_NO_RATE: Final = (
    "Each partition was committed only once in this window before its owner gave it up, which shows no rate of"
    " records."
)


def logged(
    rows: GroupRows, slots: Sequence[Slot], from_ms: int, to_ms: int, rates: ArrivalRates
) -> Logged:
    """The window `[from_ms, to_ms)` of a group, in which records arrive at these rates."""
    epochs = [row for row in rows.epochs if from_ms <= epoch_began_ms(row) < to_ms]
    low_ms, high_ms = _unowned(epochs)
    gaps = list(_replacements(rows.ownership, slots, from_ms, to_ms))
    return Logged(
        len(epochs),
        _moved(rows.ownership, slots, from_ms, to_ms),
        low_ms,
        None if high_ms is None else high_ms + sum(gap_ms for _, gap_ms in gaps),
        max((row["not_stable_max_ms"] or 0 for row in epochs), default=None),
        _delayed(rows.rebalances, gaps, rates, from_ms, to_ms) if rates else None,
    )


def _delayed(
    rebalances: Sequence[Row],
    gaps: Sequence[tuple[Row, int]],
    rates: ArrivalRates,
    from_ms: int,
    to_ms: int,
) -> LoggedDelay:
    """What the audit says of the rebalances, and the same for what lies between a static member and its successor."""
    began = ((row, row["started_at"] or row["started_at_earliest"]) for row in rebalances)
    stopped = [
        row
        for row, moment in began
        if moment is not None and from_ms <= moment < to_ms and row["partitions_stopped"]
    ]
    estimate = sum(row["records_delayed_estimate"] or 0 for row in stopped)
    estimate += sum(
        round(rate_of(rates, row["topic"], row["topic_partition"]) * gap_ms / 1_000)
        for row, gap_ms in gaps
    )
    least = [
        row["records_delayed_min"] for row in stopped if row["records_delayed_min"] is not None
    ]
    most = [row["records_delayed_max"] for row in stopped]
    return LoggedDelay(
        estimate,
        sum(least) if least else None,
        None if gaps or None in most or not most else sum(most),
    )


def _unowned(epochs: Sequence[Row]) -> tuple[int | None, int | None]:
    """Bounds of partition-milliseconds without owner in the rebalances themselves; None if one is unknown."""
    low, high = (
        [row[f"unowned_partition_{bound}_ms"] for row in epochs] for bound in ("min", "max")
    )
    return None if None in low else sum(low), None if None in high else sum(high)


def _replacements(
    ownership: Sequence[Row], slots: Sequence[Slot], from_ms: int, to_ms: int
) -> Iterator[tuple[Row, int]]:
    """Between a static member and its successor, which no rebalance shows: what was held, and for how long no more.

    The partitions had no owner from somewhere after the last commit until the successor took them over, so the
    milliseconds are an upper bound.
    """
    replaced = {
        (stint.member["member_id"], stint.to_ms)
        for slot in slots
        for stint in slot.stints
        if stint.how == REPLACED and stint.to_ms is not None
    }
    for row in ownership:
        ended = (row["member_id"], row["to_at"])
        if ended in replaced and from_ms <= row["to_at"] < to_ms:
            begun_ms = row["last_committed_at"] or row["from_at"] or row["to_at"]
            yield row, max(0, row["to_at"] - max(begun_ms, from_ms))


def _moved(ownership: Sequence[Row], slots: Sequence[Slot], from_ms: int, to_ms: int) -> int:
    """Partitions given to another instance than the one that held them before."""
    names = slot_names(slots)
    held: dict[tuple[str | None, int], str] = {}
    moved = 0
    for row in sorted(ownership, key=lambda row: (row["from_at"] or 0, row["from_offset"])):
        partition = (row["topic_id"] or row["topic"], row["topic_partition"])
        name = names.get(row["member_id"], row["member_id"])
        before = held.get(partition)
        held[partition] = name
        moment = row["from_at"] or 0
        moved += before is not None and before != name and from_ms <= moment < to_ms
    return moved


# --- records that arrive -----------------------------------------------------------------------------


class Arrivals(NamedTuple):
    """What commits show about the records that arrive."""

    rates: ArrivalRates
    unknown: str | None
    """Why no rate is known at all; None if one is."""


def arrivals_of(ownership: Iterable[Row], from_ms: int, to_ms: int) -> Arrivals:
    """The rates in `[from_ms, to_ms)`, on average over the window.

    Offsets that were reset to lower ones show nothing and are left out. A group that lags reads at another rate than
    that of arrivals; the difference is what its lag grew or shrank by.
    """
    commits: dict[tuple[str, int], list[tuple[int, int]]] = {}
    unknown = _NO_COMMIT
    for row in ownership:
        if row["topic"] is None or row["last_committed_at"] is None:
            continue
        unknown = _NO_OFFSETS if row["last_committed_offset"] is None else unknown
        for which in ("first", "last"):
            at_ms, committed = row[f"{which}_committed_at"], row[f"{which}_committed_offset"]
            if at_ms is not None and committed is not None and from_ms <= at_ms < to_ms:
                of_partition = commits.setdefault((row["topic"], row["topic_partition"]), [])
                of_partition.append((at_ms, committed))
    rates: ArrivalRates = {}
    for (topic, number), of_partition in sorted(commits.items()):
        rate = _rate(of_partition)
        if rate is not None and number < WHAT_IF_PARTITIONS.most:
            known = rates.setdefault(topic, [])
            known.extend([None] * (number + 1 - len(known)))
            known[number] = rate
    if rates:
        return Arrivals(rates, None)
    return Arrivals({}, _NO_RATE if commits else unknown)


def rate_of(rates: Mapping[str, Sequence[float | None]], topic: str, number: int) -> float:
    """Records per second of a partition; where that is unknown, the mean of its topic, else of all topics.

    0 where no rate is known at all.
    """
    of_topic = rates.get(topic, ())
    own = of_topic[number] if number < len(of_topic) else None
    if own is not None:
        return own
    known = [each for each in of_topic if each is not None]
    known = known or [each for topics in rates.values() for each in topics if each is not None]
    return fmean(known) if known else 0.0


def _rate(commits: list[tuple[int, int]]) -> float | None:
    """Records per second between the first commit and the last one."""
    commits.sort()
    records = spent_ms = 0
    for (before_ms, before), (at_ms, committed) in pairwise(commits):
        if committed >= before:
            records += committed - before
            spent_ms += at_ms - before_ms
    return round(1_000 * records / spent_ms, 3) if spent_ms else None


_NAMES_MAX: Final = 5
DECISIVE_FINDINGS: Final = {
    "half_finished_migration": (
        "A migration is half done: members of both protocols are in the group, and every rebalance waits for the"
        " slower ones."
    ),
    "protocol_downgraded": "The group went back to the classic protocol once.",
    "eager_under_cooperative_name": (
        "Its members name a cooperative assignor and still give up everything: some of them support an eager one as"
        " well, so the group stops as a whole."
    ),
    "instance_id_conflict": "Two processes use one instance id. Fix that first: it goes on under every protocol.",
    "instance_id_refused": "Processes were refused because their instance id was in use.",
    "flapping_member": "A member leaves and returns again and again. Fix that first: no protocol helps.",
}
"""Findings that bear on a migration, the most important first, and what each means for one."""


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


def fact_sentences(script: Script) -> list[str]:
    """One for each fact that bears on a change; none where the script has no facts."""
    facts = script.facts
    if facts is None:
        return []
    if script.settings.protocol == CLASSIC:
        found = [*_classic_assignor(facts), *_membership(script, facts), *_classic_members(facts)]
    else:
        found = [*_consumer_assignor(facts), *_membership(script, facts), *_regexes(facts)]
    if facts.subscriptions > 1:
        found.append(
            f"Its members have {facts.subscriptions:,} different subscriptions. While a deploy changes them, the group"
            " has both."
        )
    found += [DECISIVE_FINDINGS[kind] for kind in facts.findings if kind in DECISIVE_FINDINGS]
    return found


def _classic_assignor(facts: GroupFacts) -> Iterator[str]:
    if CONSUMER in facts.protocols:
        yield "It has used the consumer protocol before."
    if not facts.assignors:
        return
    latest = facts.assignors[-1]
    if len(facts.assignors) > 1:
        yield f"Its assignor changed: {_listed(facts.assignors)}."
    if latest == COOPERATIVE:
        yield (
            "Its assignor is cooperative-sticky, so only what moves stops already. The consumer protocol saves the"
            " second generation of every join."
        )
    elif latest in CLIENT_ASSIGNORS:
        yield (
            f"Its assignor is {latest}, an eager one: every rebalance stops the whole group. Cooperative-sticky and the"
            " consumer protocol stop only what moves."
        )
    else:
        yield (
            f"Its assignor is {latest}, which runs in the clients and is none of Kafka's consumers: the consumer"
            " protocol does not have it."
        )


def _consumer_assignor(facts: GroupFacts) -> Iterator[str]:
    changed = " It was classic before." if CLASSIC in facts.protocols else ""
    yield f"It uses the consumer protocol already.{changed}"
    names = facts.server_assignors or facts.assignors
    if names and names[-1] not in SERVER_ASSIGNORS:
        yield f"Its assignor is {names[-1]}, which brokers have only where it is installed."


def _membership(script: Script, facts: GroupFacts) -> Iterator[str]:
    static, whole = facts.static_instances, facts.instances
    session_ms, restart = script.settings.session_timeout_ms, script.habits.restart_ms
    restarts = counted(facts.restarts, "restart")
    if 0 < static < whole:
        yield f"{static:,} of {counted(whole, 'instance')} are static: only their restarts cost no rebalance."
    elif static:
        yield "Its instances are static, so a restart within the session costs no rebalance under either protocol."
    elif restart is None:
        yield (
            "Its instances are dynamic, and none came back under its name: the log has no restart that static "
            "membership could have spared a rebalance."
        )
    else:
        fits = "within" if restart.middle <= session_ms else "which is longer than"
        yield (
            f"Its instances are dynamic. {restarts}, mostly in {duration(restart.middle)},"
            f" {fits} the session timeout of {duration(session_ms)}: static members would rebalance"
            f" {'for none of those' if fits == 'within' else 'for each of them until it is raised'}."
        )


def _classic_members(facts: GroupFacts) -> Iterator[str]:
    sessions = facts.session_timeouts_ms
    if len(sessions) > 1:
        yield (
            f"Its members have different session timeouts ({_listed([duration(each) for each in sessions])}). The"
            " consumer protocol has one for the group, group.consumer.session.timeout.ms."
        )
    elif sessions and sessions[0] != CONSUMER_SESSION_MS:
        yield (
            f"Its session timeout is {duration(sessions[0])}. Under the consumer protocol brokers use"
            f" {duration(CONSUMER_SESSION_MS)} unless the group or the broker sets another one."
        )
    if len(facts.rebalance_timeouts_ms) > 1:
        times = _listed([duration(each) for each in facts.rebalance_timeouts_ms])
        yield f"Its members have different rebalance timeouts ({times}). Each keeps its own under both protocols."
    yield (
        "Classic records do not show patterns, libraries and their releases: check that every client supports KIP-848,"
        " and whether one subscribes by java.util.regex.Pattern, which it goes on resolving itself."
    )


def _regexes(facts: GroupFacts) -> Iterator[str]:
    if facts.regexes:
        yield (
            f"Members subscribe by {counted(len(facts.regexes), 'regular expression')}, which brokers resolve; the"
            " classic protocol leaves that to each client."
        )


def _listed(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:_NAMES_MAX])
    return shown if len(names) <= _NAMES_MAX else f"{shown} and {len(names) - _NAMES_MAX} more"
