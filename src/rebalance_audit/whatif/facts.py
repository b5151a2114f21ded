"""Facts of a group that decide whether a change of protocol, assignor or membership pays, and what they mean."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rebalance_audit.audit.rows import Row
from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.sentences.words import counted, duration
from rebalance_audit.whatif.group_rows import GroupRows, epoch_began_ms
from rebalance_audit.whatif.habits import CONSUMER_SESSION_MS
from rebalance_audit.whatif.memberships import Slot
from rebalance_audit.whatif.script import GroupFacts, Script
from rebalance_audit.whatif.variant import CLASSIC, CONSUMER, COOPERATIVE, SERVER_ASSIGNORS

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
