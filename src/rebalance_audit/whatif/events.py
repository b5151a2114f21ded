"""What happened to a group besides the starts and ends of its processes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.whatif.group_rows import GroupRows, epoch_began_ms
from rebalance_audit.whatif.habits import Measured
from rebalance_audit.whatif.memberships import (
    EpochKey,
    PhaseTimes,
    Slot,
    follow_up_delays,
    heard_after_ms,
    members_gone,
    slot_names,
)
from rebalance_audit.whatif.script import (
    CoordinatorMove,
    Event,
    SlowRevocation,
    Spread,
    SubscriptionChange,
    TopicDeletion,
    TopicExpansion,
    exactly,
)

_SUBSCRIBED: Final = RebalanceCause.SUBSCRIPTION_CHANGED.value
_SILENT: Final = (
    RebalanceCause.MEMBER_SESSION_EXPIRED.value,
    RebalanceCause.MEMBER_REBALANCE_TIMEOUT.value,
)
_MOVE_MS: Final = Spread(50, 10_000, 1_000)
"""How long a group is without coordinator when another broker takes over."""


def events_of(
    rows: GroupRows,
    slots: Sequence[Slot],
    phases: Mapping[EpochKey, PhaseTimes],
    measured: Measured,
    heartbeat_ms: int,
) -> list[Event]:
    """Slow revocations, growing topics, moves of the coordinator and changed subscriptions."""
    names = slot_names(slots)
    return [
        *_slow_in_consumer_group(rows.convergence, names, measured.slow_from_ms),
        *_slow_in_join_phases(slots, phases, heartbeat_ms),
        *_slow_before_follow_ups(names, phases, heartbeat_ms),
        *_topic_changes(rows),
        *_moves(rows.epochs),
        *_subscription_changes(rows, slots, names),
    ]


def used_topics(rows: GroupRows) -> frozenset[str]:
    """Names of all topics that members owned partitions of."""
    return frozenset(row["topic"] for row in rows.ownership if row["topic"] is not None)


def event_ms(event: Event) -> int:
    """About when an event was, or began; epoch milliseconds."""
    return event.start.middle if isinstance(event, SlowRevocation) else event.at.middle


# --- slow revocations ------------------------------------------------------------------------------


def _slow_in_consumer_group(
    convergence: Sequence[Row], names: Mapping[str, str], slow_from_ms: int
) -> list[Event]:
    return [
        SlowRevocation(
            exactly(row["started_at"] - 1),
            exactly(row["revoked_at"] or row["started_at"] + row["revoke_ms"]),
            names.get(row["member_id"]),
            exactly(row["revoke_ms"]),
        )
        for row in convergence
        if row["revoke_ms"] is not None
        and row["revoke_ms"] >= slow_from_ms
        and row["started_at"] is not None
    ]


def _slow_in_join_phases(
    slots: Sequence[Slot], phases: Mapping[EpochKey, PhaseTimes], heartbeat_ms: int
) -> list[Event]:
    """All whose partitions moved had given them up long before the end of the phase: another one was slow."""
    gone = members_gone(slots)
    expired = {
        (stint.incarnation, stint.epoch)
        for slot in slots
        for stint in slot.stints
        if max(stint.weights.get(each, 0.0) for each in _SILENT) > 0.1
    }
    slow_ms = 2 * heartbeat_ms + 500
    events: list[Event] = []
    for key, phase in phases.items():
        heard = heard_after_ms(phase, gone.get(key, ()))
        if key in expired or not heard or phase.length_ms < slow_ms or min(heard) < slow_ms - 500:
            continue
        events.append(
            SlowRevocation(
                exactly(phase.begin_ms - 1),
                exactly(phase.complete_ms),
                None,
                Spread(min(heard), max(heard)),
            )
        )
    return events


def _slow_before_follow_ups(
    names: Mapping[str, str], phases: Mapping[EpochKey, PhaseTimes], heartbeat_ms: int
) -> list[Event]:
    """A cooperative member revokes after a generation, and only then asks for the next one."""
    events: list[Event] = []
    for before, after, delay_ms in follow_up_delays(phases):
        if delay_ms > 2 * heartbeat_ms + 500:
            members = [member for member in before.gave_up if member in names]
            events.append(
                SlowRevocation(
                    exactly(before.begin_ms - 1),
                    exactly(after.complete_ms),
                    names[members[0]] if len(members) == 1 else None,
                    exactly(delay_ms - heartbeat_ms // 2),
                )
            )
    return events


# --- the others ------------------------------------------------------------------------------------


def _topic_changes(rows: GroupRows) -> list[Event]:
    """Topics that came, grew or went while the group ran: by the metadata log, else by what the group used."""
    events: list[Event] = []
    used, begin_ms = used_topics(rows), epoch_began_ms(rows.epochs[0])
    shown: set[str] = set()
    for topic in rows.topics:
        name = topic["topic"]
        shapes = _shapes(topic)
        if name not in used or not shapes:
            continue
        shown.add(name)
        is_later = topic["made_at"] is not None and topic["made_at"] > begin_ms
        for place, (at_ms, partitions) in enumerate(shapes):
            if at_ms is not None and at_ms > begin_ms and (place or is_later):
                events.append(TopicExpansion(exactly(at_ms), name, partitions))
        if topic["deleted_at"] is not None and topic["deleted_at"] > begin_ms:
            events.append(TopicDeletion(exactly(topic["deleted_at"]), name))
    # By the partitions that were seen: their numbers are what a client wrote into its assignment.
    seen: defaultdict[str, set[int]] = defaultdict(set)
    for row in rows.ownership:
        name = row["topic"]
        if name is None or name in shown or row["from_at"] is None:
            continue
        is_new = bool(seen[name]) and row["topic_partition"] not in seen[name]
        seen[name].add(row["topic_partition"])
        if is_new and row["from_at"] > begin_ms:
            events.append(TopicExpansion(exactly(row["from_at"]), name, len(seen[name])))
    return events


def topics_at_begin(rows: GroupRows) -> dict[str, int]:
    """Name of each topic that the group used -> its partitions when the group began."""
    used, begin_ms = used_topics(rows), epoch_began_ms(rows.epochs[0])
    sizes: dict[str, int] = {}
    known: set[str] = set()
    for topic in rows.topics:
        if topic["topic"] in used and _shapes(topic):
            known.add(topic["topic"])
            if topic["made_at"] is None or topic["made_at"] <= begin_ms:
                before = [
                    partitions
                    for place, (at_ms, partitions) in enumerate(_shapes(topic))
                    if not place or (at_ms or 0) <= begin_ms
                ]
                sizes[topic["topic"]] = before[-1]
    first_ms: dict[str, int] = {}
    seen: defaultdict[str, set[int]] = defaultdict(set)
    for row in rows.ownership:
        name, from_ms = row["topic"], row["from_at"] or 0
        if name is None or name in known:
            continue
        if first_ms.setdefault(name, from_ms) == from_ms:
            seen[name].add(row["topic_partition"])
            sizes[name] = len(seen[name])
    return dict(sorted(sizes.items()))


def _shapes(topic: Row) -> list[tuple[int | None, int]]:
    """When a topic had how many partitions."""
    return [
        (each["at"], each["partitions"]) for each in topic["shapes"] or () if each["partitions"]
    ]


def _moves(epochs: Sequence[Row]) -> list[Event]:
    events: list[Event] = []
    for before, after in pairwise(epochs):
        old, new = before["coordinator_epoch"], after["coordinator_epoch"]
        if old is None or new is None or new <= old:
            continue
        low_ms = before["converged_at"] or before["target_installed_at"] or before["started_at"]
        high_ms = after["started_at"]
        if low_ms is not None and high_ms is not None:
            events.append(CoordinatorMove(Spread(min(low_ms, high_ms), high_ms), _MOVE_MS))
    return events


def _subscription_changes(
    rows: GroupRows, slots: Sequence[Slot], names: Mapping[str, str]
) -> list[Event]:
    joined = {stint.from_ms for slot in slots for stint in slot.stints}
    return [
        SubscriptionChange(exactly(row["at"]), names[row["member_id"]], tuple(row["topics"]))
        for row in rows.causes
        if row["cause"] == _SUBSCRIBED
        and row["certainty"] != "possible"
        and row["member_id"] in names
        and row["topics"]
        and row["at"] not in joined
    ]
