"""Makes the script of a group from its audit, or says why there is none."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from rebalance_audit import limits
from rebalance_audit.audit.rows import GAP, Row
from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.sentences.words import duration
from rebalance_audit.whatif import habits as habit
from rebalance_audit.whatif.events import event_ms, events_of, topic_history
from rebalance_audit.whatif.group_rows import GroupRows, epoch_began_ms
from rebalance_audit.whatif.habits import times_of
from rebalance_audit.whatif.history import arrivals_of, group_facts, logged
from rebalance_audit.whatif.lives import Clues, story_of, went_on
from rebalance_audit.whatif.memberships import EpochKey, PhaseTimes, join_phases, member_slots
from rebalance_audit.whatif.script import Event, Habits, Script, Settings, Spread, spread_of
from rebalance_audit.whatif.variant import CLASSIC, CONSUMER, SERVER_ASSIGNORS

_MESSAGES: Final = 4
"""Steps that a revocation consists of: two messages, and the application's thread before and after its callback."""
_EAGER_BY_ANOTHER_NAME: Final = "eager_under_cooperative_name"
_INITIAL_DELAY_MS: Final = 3_000
"""Default of `group.initial.rebalance.delay.ms`."""
_TIMEOUT_MS: Final = 300_000
"""Default of `max.poll.interval.ms`."""


def script_of(
    rows: GroupRows,
    from_ms: int | None = None,
    to_ms: int | None = None,
    *,
    session_timeout_ms: int | None = None,
    heartbeat_interval_ms: int | None = None,
) -> Script:
    """The script of a window of a group, by default of all that the log has.

    `session_timeout_ms`, `heartbeat_interval_ms`: what the group had, where that is known better than the log shows.
    """
    phases = join_phases(rows)
    slots = member_slots(rows, phases)
    measured = habit.measure_habits(rows, slots, phases)
    assumptions: list[str] = []
    settings = _settings(rows, measured, assumptions, session_timeout_ms, heartbeat_interval_ms)
    # With the first epoch, or right after the place up to which the log was compacted.
    begin_ms = epoch_began_ms(rows.epochs[0]) + (rows.epochs[0]["completeness"] == GAP)
    from_ms = begin_ms if from_ms is None else max(from_ms, begin_ms)
    to_ms = (rows.end_ms or begin_ms) + 1 if to_ms is None else to_ms
    commit_ms = measured.commit_interval_ms or habit.COMMIT_INTERVAL_MS
    clues = Clues(
        settings.session_timeout_ms,
        settings.heartbeat_interval_ms,
        commit_ms,
        settings.is_static,
        went_on(slots, commit_ms),
    )
    stories = [story_of(slot, clues) for slot in slots]
    events: list[Event] = [each for story in stories for each in story.slow]
    events += events_of(rows, slots, phases, measured, settings.heartbeat_interval_ms)
    instances = [story.instance for story in stories]
    arrivals = arrivals_of(rows.ownership, from_ms, to_ms)
    restarts = [
        after.start.middle - life.end.middle
        for instance in instances
        for life, after in pairwise(instance.lives)
        if life.end is not None
    ]
    return Script(
        rows.group_id,
        from_ms,
        to_ms,
        settings,
        _habits(measured, settings, spread_of(restarts), _initial_delay(phases)),
        topic_history(rows)[0],
        instances,
        sorted(events, key=event_ms),
        logged(rows, slots, from_ms, to_ms, arrivals.rates),
        assumptions,
        *arrivals,
        group_facts(rows, slots, from_ms, to_ms),
    )


# --- settings and habits ---------------------------------------------------------------------------


def _settings(
    rows: GroupRows,
    measured: habit.Measured,
    assumptions: list[str],
    session_timeout_ms: int | None,
    heartbeat_interval_ms: int | None,
) -> Settings:
    protocol = rows.protocol
    own = (row["assignor"] for row in reversed(rows.epochs) if row["protocol"] == protocol)
    assignor = next(filter(None, own), None)
    members = [row for row in rows.members if row["protocol"] == protocol] or rows.members
    is_static = 2 * sum(row["instance_id"] is not None for row in members) > len(members)
    is_consumer = protocol == CONSUMER
    session_ms = session_timeout_ms
    if session_ms is None and not is_consumer:
        sessions = [row["session_timeout_ms"] for row in members if row["session_timeout_ms"]]
        session_ms = max(sessions, key=sessions.count) if sessions else None
    if session_ms is None:
        most_ms = measured.consumer_session_most_ms
        session_ms = habit.consumer_session_ms(most_ms)
        if most_ms is None:
            assumptions.append(
                "The session timeout is Kafka's default of 45 s: the records of the consumer protocol do not have it,"
                " and no session ended in the log."
            )
        else:
            assumptions.append(
                f"The session timeout is taken to be {session_ms / 1000:g} s: the records of the consumer protocol do"
                f" not have it, and expired sessions only show that it is at most {duration(most_ms)}"
                " (--was-session-timeout sets it)."
            )
    heartbeat_ms = heartbeat_interval_ms or measured.heartbeat_interval_ms
    if heartbeat_ms is None:
        default_ms = habit.CONSUMER_HEARTBEAT_MS if is_consumer else habit.CLASSIC_HEARTBEAT_MS
        heartbeat_ms = min(default_ms, max(1, session_ms // 3))
        assumptions.append(
            f"The heartbeat interval is {heartbeat_ms / 1000:g} s: the log does not show it."
        )
    elif heartbeat_interval_ms is None:
        heartbeat_ms = min(heartbeat_ms, max(1, session_ms // 3))
        assumptions.append(
            f"The heartbeat interval is {heartbeat_ms / 1000:g} s, as members' reactions to rebalances show."
        )
    timeouts = [row["rebalance_timeout_ms"] for row in members if row["rebalance_timeout_ms"]]
    timeout_ms = max(timeouts, key=timeouts.count) if timeouts else _TIMEOUT_MS
    server = next((row["server_assignor"] for row in members if row["server_assignor"]), None)
    name = _assignor(server or assignor if is_consumer else assignor, protocol, assumptions)
    # Beside an eager assignor that some member still supports, cooperative-sticky is eager too.
    is_eager = any(row["kind"] == _EAGER_BY_ANOTHER_NAME for row in rows.findings)
    assignors = (name, "range") if is_eager and not is_consumer else (name,)
    return Settings(protocol, assignors, is_static, session_ms, timeout_ms, heartbeat_ms)


def _assignor(name: str | None, protocol: str, assumptions: list[str]) -> str:
    """The simulator's assignor for the group's."""
    known = SERVER_ASSIGNORS if protocol == CONSUMER else tuple(CLIENT_ASSIGNORS)
    if name in known:
        return name
    taken = known[0]
    if name is not None and protocol == CLASSIC:
        alike = (each for each in _BY_PART if each in name.lower().replace("_", "-"))
        taken = _BY_PART.get(next(alike, ""), taken)
    if name is not None:
        assumptions.append(
            f"The simulator does not know the assignor {name}: it assigns by {taken} instead."
        )
    return taken


_BY_PART: Final = {"cooperative": "cooperative-sticky", "sticky": "sticky", "robin": "roundrobin"}
"""Part of an assignor's name -> the assignor of Kafka's that it is most like."""


def _initial_delay(phases: Mapping[EpochKey, PhaseTimes]) -> int:
    """The shortest time in which an empty group gathered members, else the default."""
    firsts = [
        phase.complete_ms - phase.earliest_ms
        for phase in phases.values()
        if phase.is_first and phase.complete_ms > phase.earliest_ms
    ]
    return min(*firsts, _INITIAL_DELAY_MS) if firsts else _INITIAL_DELAY_MS


def _habits(
    measured: habit.Measured, settings: Settings, restarts: Spread | None, initial_delay_ms: int
) -> Habits:
    times = times_of(settings.protocol)
    latency_ms = measured.latency_ms or times.latency_ms
    if settings.protocol == "consumer" and measured.revoke_ms is not None:
        # What revocations take beyond the usual is the machine's or the network's: it is in every message.
        extra_ms = measured.revoke_ms.middle - times.revoke_ms.middle
        latency_ms = min(max(times.latency_ms, extra_ms // _MESSAGES), habit.LATENCY_MAX_MS)
    return Habits(
        latency_ms,
        measured.revoke_ms or times.revoke_ms,
        times.assign_ms,
        restarts,
        measured.commit_interval_ms or habit.COMMIT_INTERVAL_MS,
        measured.leader_ms,
        initial_delay_ms,
    )


# --- groups that no script can be made for -----------------------------------------------------------

MISSING_MAX: Final = 0.1
"""Share of a group's epochs that may be missing from the log."""
EPOCHS_AFTER_GAP: Final = 5
"""So many complete epochs must follow the place up to which a log was compacted."""

_BY_PROTOCOL: Final = {
    "share": "It is a share group: members share partitions, so none is ever taken from one and given to another.",
    "streams": "It is a streams group: tasks have state to restore, which the simulator does not model.",
}
_BY_PROTOCOL_TYPE: Final = {
    "connect": "Its members are Kafka Connect workers, which assign connectors and tasks by their own protocol.",
    "sr": "Its members are schema registries, which elect a leader and assign no partitions.",
}

_DAY_MS: Final = 86_400_000


def refusal_of(rows: GroupRows, from_ms: int | None, to_ms: int | None) -> str | None:
    """Why the group cannot be asked; None if it can."""
    epochs = [
        row
        for row in rows.epochs
        if (from_ms is None or epoch_began_ms(row) >= from_ms)
        and (to_ms is None or epoch_began_ms(row) < to_ms)
    ]
    if not rows.epochs and not rows.members:
        return "It has no members in this log: its application assigns partitions itself, and nothing rebalances."
    if not rows.epochs:
        return "The log holds none of its epochs, so nothing that happened to it can be simulated."
    kinds = {rows.protocol, *(row["protocol"] for row in rows.epochs)}
    for protocol, sentence in _BY_PROTOCOL.items():
        if protocol in kinds:
            return sentence
    types = {row["protocol_type"] for row in rows.epochs if row["protocol_type"]}
    for protocol_type in sorted(types - {"consumer"}):
        other = f"Its members are no consumers: their protocol type is {protocol_type}."
        return _BY_PROTOCOL_TYPE.get(protocol_type, other)
    if any(row["assignor"] == "stream" for row in rows.epochs):
        return "Its members are Kafka Streams applications, whose tasks have state to restore."
    usable = [row for row in epochs if row["completeness"] != GAP]
    missing = _missing(usable)
    if (len(usable) < len(epochs) and len(usable) < EPOCHS_AFTER_GAP) or (
        missing > MISSING_MAX * (missing + len(usable))
    ):
        last = max(row["epoch"] for row in epochs)
        return (
            f"The log was compacted: it holds {len(usable):,} of the epochs up to {last:,} with what"
            " happened in them, which is too few."
        )
    return None


def too_large(script: Script) -> str | None:
    """Why a script would take too long to simulate, or too much memory; None if it would not."""
    processes = sum(len(each.lives) for each in script.instances) + len(script.events)
    for limit, found in (
        (limits.WHAT_IF_PARTITIONS, script.most_partitions()),
        (limits.WHAT_IF_INSTANCES, len(script.instances)),
        (limits.WHAT_IF_PROCESSES, processes),
        (limits.WHAT_IF_DAYS, -(-(script.to_ms - script.from_ms) // _DAY_MS)),
    ):
        if found > limit.most:
            return f"It has {found:,} {limit.unit}; what-if simulates at most {limit.most:,}."
    return None


def _missing(epochs: Sequence[Row]) -> int:
    """How many epochs the log lacks between those that it has."""
    by_incarnation: dict[int, list[int]] = {}
    for row in epochs:
        by_incarnation.setdefault(row["incarnation"], []).append(row["epoch"])
    missing = 0
    for numbers in by_incarnation.values():
        numbers.sort()
        for before, after in pairwise(numbers):
            # One generation or epoch may pass unrecorded; a longer gap is one of the log.
            missing += after - before - 1 if after - before > 2 else 0
    return missing
