"""What the facts of a group mean for a migration, as sentences."""

from collections.abc import Iterator
from typing import Final

from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.sentences.words import counted, duration
from rebalance_audit.whatif.facts import GroupFacts
from rebalance_audit.whatif.habits import CONSUMER_SESSION_MS
from rebalance_audit.whatif.script import Script
from rebalance_audit.whatif.variant import CLASSIC, CONSUMER, SERVER_ASSIGNORS

_COOPERATIVE: Final = "cooperative-sticky"
_NAMES_MAX: Final = 5
_OF_FINDING: Final = {
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
    found += [_OF_FINDING[kind] for kind in facts.findings if kind in _OF_FINDING]
    return found


def _classic_assignor(facts: GroupFacts) -> Iterator[str]:
    if CONSUMER in facts.protocols:
        yield "It has used the consumer protocol before."
    if not facts.assignors:
        return
    latest = facts.assignors[-1]
    if len(facts.assignors) > 1:
        yield f"Its assignor changed: {_listed(facts.assignors)}."
    if latest == _COOPERATIVE:
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
