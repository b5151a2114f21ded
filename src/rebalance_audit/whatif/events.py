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
        *topic_history(rows)[1],
        *_moves(rows.epochs),
        *_subscription_changes(rows, slots, names),
    ]


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


def topic_history(rows: GroupRows) -> tuple[dict[str, int], list[Event]]:
    """Partitions of each topic that the group used when it began; topics that came, grew or went while it ran.

    By the metadata log, else by the partitions that were seen: their numbers are what a client wrote.
    """
    used, begin_ms = {row["topic"] for row in rows.ownership}, epoch_began_ms(rows.epochs[0])
    sizes: dict[str, int] = {}
    events: list[Event] = []
    shown: set[str] = set()
    for topic in rows.topics:
        name = topic["topic"]
        shapes = [
            (each["at"], each["partitions"]) for each in topic["shapes"] or () if each["partitions"]
        ]
        if name not in used or not shapes:
            continue
        shown.add(name)
        is_later = topic["made_at"] is not None and topic["made_at"] > begin_ms
        for place, (at_ms, partitions) in enumerate(shapes):
            if at_ms is not None and at_ms > begin_ms and (place or is_later):
                events.append(TopicExpansion(exactly(at_ms), name, partitions))
            elif not is_later:
                sizes[name] = partitions
        if topic["deleted_at"] is not None and topic["deleted_at"] > begin_ms:
            events.append(TopicDeletion(exactly(topic["deleted_at"]), name))
    first_ms: dict[str, int] = {}
    at_first: defaultdict[str, set[int]] = defaultdict(set)
    seen: defaultdict[str, set[int]] = defaultdict(set)
    for row in rows.ownership:
        name, number, from_ms = row["topic"], row["topic_partition"], row["from_at"]
        if name is None or name in shown:
            continue
        if first_ms.setdefault(name, from_ms or 0) == (from_ms or 0):
            at_first[name].add(number)
            sizes[name] = len(at_first[name])
        if from_ms is not None:
            is_new = bool(seen[name]) and number not in seen[name]
            seen[name].add(number)
            if is_new and from_ms > begin_ms:
                events.append(TopicExpansion(exactly(from_ms), name, len(seen[name])))
    return dict(sorted(sizes.items())), events


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
